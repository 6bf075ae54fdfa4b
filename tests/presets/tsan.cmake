# Thread sanitizer.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(EVOLVE_SANITIZE "thread" CACHE STRING "")
# Half the compile time of -O2 -g, and the tests are hardly slower.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG" CACHE STRING "")
# Headers are dearer than what is in a file: several files at once take a third of the time.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
