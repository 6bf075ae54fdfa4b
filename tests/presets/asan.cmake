# Address and undefined-behaviour sanitizers.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(EVOLVE_SANITIZE "address,undefined" CACHE STRING "")
# A third of the compile time of -O2 -g; the tests take a little longer.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG" CACHE STRING "")
set(EVOLVE_WERROR ON CACHE BOOL "")
