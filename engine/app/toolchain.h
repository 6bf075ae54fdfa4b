// The Python environment that the steps run in: its interpreter, its packages, and its comparison
// with the lock file.
#pragma once

#include <string>

#include "engine/core/result.h"

namespace evolve {

struct Toolchain {
  std::string python;    // the interpreter's path
  std::string versions;  // "cpython-3.11.2 jax-0.10.2 …": the locked packages; part of every key of
                         // a Python step
};

// Reads the environment of the interpreter `python` without running it, and compares it with the
// lock file. Bad input: the environment is missing or differs; the message names the first package
// that differs.
Result<Toolchain> read_toolchain(const std::string& python, const std::string& lock_file);

// Checks that the environment of `python` has the `versions`, which are written as in a Toolchain.
// Bad input: the environment differs; the message names the first package that differs.
Status check_toolchain(const std::string& python, const std::string& versions);

}  // namespace evolve
