// The work of a program, compared with the needs of its case. The work is the operations that its
// kernels executed and the bytes that its modules moved. A program that did less than its case
// needs did not do its task, even if its results are right.
//
// The count is an upper limit. A push through a matrix unit counts as a product of as many rows as
// a register has, with the whole unit. This includes padding and all passes of a precise product.
// An instruction of the vector units counts as one operation for each element of its register,
// whether it is arithmetic or not (two if it multiplies and adds). So a program that did enough
// never seems to have done too little.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the most floating-point operations that an instruction can do.
double most_flops_of(const Opcode& opcode, const Device& device);

struct Work {
  double matrix_flops = 0;  // in kernels
  double vector_flops = 0;  // in kernels, at the most
  // FLOPs of both kinds, counted above, of which the simulation does not know whether they ran: in
  // guards, branches on data and conditionals.
  double uncertain_flops = 0;
  std::string guard;      // names the guard with the most of them: "matmul.1: line 120"
  double load_bytes = 0;  // from HBM, of all modules
  double store_bytes = 0;
};

Work work_of(const ProgramRun& run, const Device& device);

// The share of an average that drawn inputs surely reach. For the kernels here, the mean of the
// drawn lengths has a standard deviation of 5 % (128 sequences) or 10 % (32). Only this share of
// the bytes is ever asked for, because a kernel may need only a part of an input.
constexpr double kSureShare = 0.75;

// The minimum work that a case's spec asks for.
struct Needs {
  double flops = 0;  // inside kernels: the spec's formula; `share` of it is asked for
  // Bytes that must cross HBM's border: the lesser of the formula and the bytes of inputs and
  // outputs. The formula is larger if it counts an array twice that a kernel reads once, and
  // smaller if a case uses only a part of an input, such as a paged cache.
  double bytes = 0;
  double output_bytes = 0;  // each output is written
  double share = 0;         // of the FLOPs: contract.min_flops
  // The formulas are averages, because whole numbers among the inputs decide how much is to be
  // done. The drawn inputs may need only kSureShare of them, so the roofline is lowered by the same
  // share.
  bool is_average = false;
  int operand_bits = 16;  // of the narrowest operand; 8 bits are twice as fast as 16
};

// Reads a case's cost.json, terms.json and signature.json. Bad input: another form.
Result<Needs> read_needs(const nlohmann::json& cost, const nlohmann::json& terms,
                         const nlohmann::json& signature);

// Returns the least time that the device needs for a case, by its peaks.
double least_seconds(const Needs& needs, const Device& device);

// Why a program is rejected.
struct Flaw {
  std::string kind;  // "suspicious", "not_modelled"
  std::string reason;
};

// Returns why a program cannot have done the work that its case needs. Nullopt: the program may
// have done the work.
std::optional<Flaw> flaw_of(const Work& work, double seconds, const Needs& needs,
                            const Device& device);

}  // namespace evolve::ir
