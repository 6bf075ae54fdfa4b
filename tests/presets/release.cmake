# What users run: optimised, warnings are errors.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(EVOLVE_WERROR ON CACHE BOOL "")
