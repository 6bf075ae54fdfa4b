# The fuzzers: clang, libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(EVOLVE_FUZZERS ON CACHE BOOL "")
set(EVOLVE_TESTS ON CACHE BOOL "")
set(EVOLVE_WERROR ON CACHE BOOL "")
