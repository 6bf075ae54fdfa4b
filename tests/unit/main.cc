// The runner of all Catch2 tests.
#define CATCH_CONFIG_MAIN
#include "tests/catch.h"
