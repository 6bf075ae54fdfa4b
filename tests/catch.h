// Catch2 of version 2, which Debian 12 has, or of version 3, which newer systems have.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
