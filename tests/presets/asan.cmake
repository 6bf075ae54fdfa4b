# Address and undefined-behaviour sanitizers.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(EVOLVE_SANITIZE "address,undefined" CACHE STRING "")
# A third of the compile time of -O2 -g; the tests take a little longer.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG" CACHE STRING "")
# Headers are dearer than what is in a file: several files at once take a third of the time.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
