# Thread sanitizer.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(EVOLVE_SANITIZE "thread" CACHE STRING "")
# Half the compile time of -O2 -g, and the tests are hardly slower.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG" CACHE STRING "")
