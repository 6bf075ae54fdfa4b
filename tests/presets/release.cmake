# What users run: optimised, warnings are errors.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
# Headers and templates are dearer than what is in a file: several files at once take a third of the time.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
