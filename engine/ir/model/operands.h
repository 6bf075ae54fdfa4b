// What a kernel is given that its control flow hangs on: scalars, and tables that are prefetched
// (group sizes, masks, pages). From a file to the words that the simulator reads.
//
// A JSON file is one of
//   {"0": VALUES, "2": VALUES, …}      operands by their number
//   [VALUES, VALUES, …]                operands 0, 1, …; null for one that is not given
//   {"kernels": {NAME: [{"times": 3, "operands": {"0": VALUES, …}}, …], …}}
//                                      a kernel that runs several times, or several kernels; "gmm"
//                                      is the name of the module "gmm.1", too. A run may have
//                                      "shapes": ["s32[9]", null, …], of operands 0, 1, …: then a
//                                      module is told by them where it is not by its name
// VALUES is a number, or lists of numbers as deep as the operand's shape, or one list of them, row
// by row. A NumPy file (.npy) is one operand: whole numbers, booleans or 32-bit floats.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/model/simulator.h"
#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// Numbers row by row; whole ones are exact.
using Values = std::vector<double>;
using OperandValues = std::map<uint32_t, Values>;

// One or more equal runs of a kernel. Several inputs of a kernel are all its runs; one that runs
// once stands for as many as there are.
struct KernelInput {
  uint64_t times = 1;
  OperandValues operands;
  std::vector<std::string> shapes = {};  // "s32[9]"; "" is any
  bool operator==(const KernelInput&) const = default;
};

struct ProgramInput {
  // By kernel; "" is every kernel that is not named.
  std::map<std::string, std::vector<KernelInput>> kernels;
  struct Runs {
    const std::vector<KernelInput>* each = nullptr;  // nullptr: nothing is said
    uint64_t kernels = 1;                            // that run so, and are not told apart
  };
  // The runs of a module, by its name or else its shapes. Nothing is said of it, too, where kernels
  // of its shapes are given different operands.
  [[nodiscard]] Runs of(const Schedule& module) const;
};

// Reads such a JSON document. An error is bad input and says what was expected.
Result<ProgramInput> read_operands(const nlohmann::json& document);

// Reads a NumPy file of version 1 to 3.
Result<Values> read_npy(std::string_view bytes);

// The values as they lie in memory. What does not fit the operand's shape, as the schedule has it,
// is bad input; so is a number of which the schedule has no operand.
//
// Layout, as XLA tiles arrays: of the last two dimensions tiles of 8x128 elements (of 1, 2 or 4
// rows where there are no more), a row of tiles after the other; four 8-bit or two 16-bit elements
// of following rows share a word. A vector of 32-bit elements is linear; of smaller ones 128 words
// hold 4 or 2 rows of 128. Seen in the addresses of compiled kernels with 15 shapes.
Result<Parameters> lay_out(const Schedule& schedule, const OperandValues& values);

}  // namespace evolve::ir
