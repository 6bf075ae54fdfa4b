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

// Returns the interpreter of the steps: `wanted`, if it is not empty; the one that $EVOLVE_PYTHON
// names comes before it. If neither is given: that of the active virtual environment
// ($VIRTUAL_ENV), if JAX is installed there, or else that of our own environment, .venv beside the
// folder `rules`.
std::string find_python(const std::string& rules, const std::string& wanted = "");

// Reads the environment of the interpreter `python` without running it. Our own environment must
// have what rules/requirements.lock says. Any other one may have other versions of these packages,
// but a JAX of the same series, and need not have those that no step imports. Bad input: the
// environment is missing, lacks a package or is not as it must be; the message names the first such
// package.
Result<Toolchain> read_toolchain(const std::string& python, const std::string& rules);

// Checks that the environment of `python` has the `versions`, which are written as in a Toolchain.
// Bad input: the environment differs; the message names the first package that differs.
Status check_toolchain(const std::string& python, const std::string& versions);

}  // namespace evolve
