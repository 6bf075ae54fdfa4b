// The operands that a kernel's control flow depends on: scalars, and prefetched tables (group
// sizes, masks, pages). They are read from a file and become the words that the simulator reads.
//
// A JSON file has one of these forms:
//   {"0": VALUES, "2": VALUES, …}      operands by their number
//   [VALUES, VALUES, …]                operands 0, 1, …; null: the operand is not given
//   {"kernels": {NAME: [{"times": 3, "operands": {"0": VALUES, …}}, …], …}}
//                                      a kernel that runs several times, or several kernels; "gmm"
//                                      is the name of the module "gmm.1", too. A run may have
//                                      "shapes": ["s32[9]", null, …], of operands 0, 1, …. They
//                                      identify a module of another name
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

// An operand's numbers, row by row. Whole numbers of up to 53 bits are exact.
using Values = std::vector<double>;
using OperandValues = std::map<uint32_t, Values>;

// One run of a kernel, or several equal runs. If a kernel has several inputs, they list all its
// runs. A single input that runs once stands for all runs, however many there are.
struct KernelInput {
  uint64_t times = 1;
  OperandValues operands;
  std::vector<std::string> shapes = {};  // "s32[9]"; "": any shape
  bool operator==(const KernelInput&) const = default;
};

struct ProgramInput {
  // The inputs by kernel. "": every kernel that is not named.
  std::map<std::string, std::vector<KernelInput>> kernels;
  struct Runs {
    const std::vector<KernelInput>* each = nullptr;  // null: no runs are given
    uint64_t kernels = 1;  // how many kernels of these shapes have these runs
  };
  // Returns the runs of a module, found by its name, else by its shapes, else under "". `each` is
  // null, too, if kernels of the same shapes are given different operands.
  [[nodiscard]] Runs of(const Schedule& module) const;
};

// Reads a JSON document in one of the forms at the top of this file. Bad input: another form; the
// error says what was expected.
Result<ProgramInput> read_operands(const nlohmann::json& document);

// Reads a NumPy file of version 1 to 3.
Result<Values> read_npy(std::string_view bytes);

// Returns the values as they are in memory. Bad input: values that do not fit the operand's type in
// the schedule, a type whose layout is not known, or a number that no operand in the schedule has.
//
// The layout is XLA's tiling of arrays. The last two dimensions are cut into tiles of 8x128
// elements, or of 1, 2 or 4 rows if the array has no more. The rows of tiles follow one another.
// Four 8-bit or two 16-bit elements of successive rows share a word. A vector of 32-bit elements is
// linear. In a vector of smaller elements, 128 words hold 4 or 2 rows of 128. This layout was seen
// in the addresses of compiled kernels with 15 shapes.
Result<Parameters> lay_out(const Schedule& schedule, const OperandValues& values);

}  // namespace evolve::ir
