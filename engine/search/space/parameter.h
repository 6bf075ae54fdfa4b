// A constant that a sweep may change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evolve {

// A constant `name = <whole number>` in the kernel's EVOLVE block.
struct Parameter {
  std::string name;
  std::vector<int64_t> values;  // ascending, distinct, at least one
};

}  // namespace evolve
