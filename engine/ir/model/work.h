// What a program's kernels executed and its modules moved, held against what its case needs: a
// program that did less did not do what was asked for, whatever its values are.
//
// Counted is the most that can have been done. A push through a matrix unit counts as a product of
// as many rows as a register has, with the whole unit: padding and all passes of a precise product
// included. An instruction of the vector units counts as an operation for each element of its
// register, be it arithmetic or not (two where it multiplies and adds). So no program is said to
// have done too little that did enough.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/result.h"
#include "engine/ir/model/program.h"

namespace evolve::ir {

// Floating-point operations that an instruction does at the most.
double most_flops_of(const Opcode& opcode, const Device& device);

struct Work {
  double matrix_flops = 0;  // in kernels
  double vector_flops = 0;  // in kernels, at the most
  // Of both: in guards of which the simulation does not know whether they run. They are counted.
  double uncertain_flops = 0;
  std::string guard;      // names the one with most of these: "matmul.1: line 120"
  double load_bytes = 0;  // from HBM, of all modules
  double store_bytes = 0;
};

Work work_of(const ProgramRun& run, const Device& device);

// The share of an average that what is drawn surely comes to: the drawn lengths of the kernels here
// are within 5 % (128 sequences) and 10 % (32) of it, one standard deviation. So much of the bytes
// is asked for in any case, for a kernel may need only a part of an input.
constexpr double kSureShare = 0.75;

// What a case's spec says that at the least has to be done.
struct Needs {
  double flops = 0;  // inside of kernels: the spec's formula, of which `share` is asked for
  // That must cross HBM. No more than inputs and outputs have, for the formula may count an array
  // twice that a kernel reads once; and no more than the formula, for a case may use a part of an
  // input, as a paged cache.
  double bytes = 0;
  double output_bytes = 0;  // each is written
  double share = 0;         // of the FLOPs: contract.min_flops
  // Where whole numbers among the inputs decide how much is to be done, the formulas are averages:
  // what was drawn may be kSureShare of that, and so may the roofline.
  bool is_average = false;
  int operand_bits = 16;  // of the narrowest: the matrix units are twice as fast for 8 as for 16
};

// From a case's cost.json, terms.json and signature.json.
Result<Needs> read_needs(const nlohmann::json& cost, const nlohmann::json& terms,
                         const nlohmann::json& signature);

// The least time that the device needs for a case, by its peaks.
double least_seconds(const Needs& needs, const Device& device);

// Why a program cannot have done what its case needs: a report's "verdict", "kind" and "reason";
// null where it may have.
nlohmann::json flaw_of(const Work& work, double seconds, const Needs& needs, const Device& device);

// For facts.json.
nlohmann::json work_json(const Work& work);
nlohmann::json needs_json(const Needs& needs, const Device& device);

}  // namespace evolve::ir
