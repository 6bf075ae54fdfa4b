// The Python environment that the steps run in: which one, what is in it, and whether it is the
// locked one.
#pragma once

#include <string>

#include "engine/core/result.h"

namespace evolve {

struct Toolchain {
  std::string python;    // the interpreter's path
  std::string versions;  // "cpython-3.11.2 jax-0.10.2 …": the locked packages; part of every key of
                         // a Python step
};

// Reads the environment that `python` is the interpreter of, without running it, and compares it
// with the lock file. A missing or differing environment is bad input, naming the first package
// that differs.
Result<Toolchain> read_toolchain(const std::string& python, const std::string& lock_file);

// Whether the environment of `python` has these versions, as a Toolchain says them. Bad input,
// naming the first that differs.
Status check_toolchain(const std::string& python, const std::string& versions);

}  // namespace evolve
