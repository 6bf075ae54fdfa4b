// The spec of a kernel: its formula, the cases on which it is judged and timed, and the parameters
// that a sweep may change. It is parsed from spec.yaml (schema: kernels/README.md), and written as
// the JSON files that the steps read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/parameter.h"

namespace evolve {

struct Tensor {
  std::string name;
  std::vector<std::string> shape;  // for each axis a formula over the dimensions
  std::string dtype;               // "bfloat16"
  // The least and the largest value of an input, as formulas over the dimensions; empty: any value
  // of its dtype.
  std::vector<std::string> range;
  // The sum of the whole numbers along the last axis, as a formula; empty: any sum.
  std::string sum;
  std::vector<std::string> are;  // "sorted", "distinct": along the last axis
  // Formula of whole numbers that follow from other values. It is a formula over the dimensions and
  // the inputs before this one, as rules/judge/whole_numbers.py reads it. Empty: the values are
  // drawn.
  std::string values;
};

struct Case {
  std::string name;                     // usable as a folder's name: letters, digits, '_', '-'
  std::map<std::string, int64_t> dims;  // a value for each of the spec's dimensions
  std::vector<std::string> tags;  // bench (timed), check (compared) or both; ci, holdout, parts
  double weight = 1;              // weight of a bench case in the score

  // Whether only the call without gradients is judged. That call may be another program than the
  // call with gradients. So each written case of a kernel with gradients has a second case
  // NAME-forward.
  bool is_forward = false;

  [[nodiscard]] bool has_tag(std::string_view tag) const;
};

// Allowed errors against a float64 oracle. Both conditions must hold:
//
// For each element, |out - oracle| is at most atol + rtol * |oracle|, or at most max_error_ratio
// times the largest error of the reference in elements of about the same size. The unit of atol is
// the oracle's RMS. The unit is smaller if a few elements are much larger than the others, or if
// the values are large whole numbers.
//
// The RMS error is at most max_error_ratio times the RMS error of the reference.
// rules/judge/comparison.py has the exceptions.
struct Tolerance {
  double rtol = 1e-2;
  double atol = 1e-2;
  double max_error_ratio = 1.5;
};

// Conditions that a program must meet to be worth checking, judged from its text
// (rules/judge/contract.py).
struct Contract {
  double min_flops = 0.75;          // inside of kernels, as a share of cost.flops
  double max_outside_flops = 0.05;  // outside of kernels, as a share of cost.flops
  int64_t max_constant_bytes = int64_t{1} << 20;
  std::string operand;                  // narrowest operand of a dot; default: narrowest input
  bool is_operand_said = false;         // whether the spec names `operand`
  std::string accumulator = "float32";  // narrowest dtype in which dots and sums add
  std::string precision = "default";    // of float32 dots: "default" or "highest"
  // Steps that a variant may survive without, if they cannot be done on it: "interpret", "values".
  std::vector<std::string> excused;
  // Names of operations that a program may do outside of its kernels, besides those that all
  // programs may do (rules/judge/outside.py): "sorts", "gathers", ...
  std::vector<std::string> outside;
  // Modules that a kernel may import, besides those that all kernels may import
  // (rules/programs/candidate.py).
  std::vector<std::string> imports;
};

struct Cost {
  std::string flops;  // formulas over the dimensions
  std::string bytes;
  // The same for a call without gradients, if the kernel has gradients; empty: not stated.
  std::string forward_flops;
  std::string forward_bytes;
};

struct Spec {
  std::string name;
  std::string formula;  // for people
  std::string entry;    // the function that kernel, reference and XLA baseline export
  std::vector<std::string> dimensions;
  std::vector<Tensor> inputs;  // in the order of the function's arguments
  std::vector<Tensor> outputs;
  std::vector<Case> cases;
  // The inputs with respect to which the kernel is differentiated. The judge takes the gradients as
  // further outputs "d_INPUT". It gives the outputs' cotangents as further inputs "d_OUTPUT".
  std::vector<std::string> gradients;
  Tolerance tolerance;
  Contract contract;
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;  // formulas over the parameters that must hold
  Cost cost;
};

// Parses and validates a spec's text. Bad input: anything that is not in the schema or not sound.
// The error has the place, the line and the nearest known name. `path` is for messages.
Result<Spec> parse_spec(std::string_view text, const std::string& path);

// Whether a case is compared as a whole: it has the tag check, or it is timed, is small enough for
// a CPU and does not have the tag parts. Timed cases are checked because most tricks work only at
// sizes that are not checked.
bool is_checked(const Spec& spec, const Case& one);

// Times only the named bench cases. Other bench cases stay only if they are checked. Bad input: a
// name is not the name of a bench case.
Status time_only(Spec& spec, const std::vector<std::string>& names);

// These return the texts of the files that the steps read. The texts have sorted keys, an indent of
// two blanks, and a newline at the end.
std::string spec_json(const Spec& spec);
// signature_json has no case name, so that cases of the same shapes share all results that are
// computed from the signature. REQUIRES (also of cost_json and terms_json): `one` is a case of
// `spec`, which parse_spec returned.
std::string signature_json(const Spec& spec, const Case& one);
std::string tolerance_json(const Spec& spec);
std::string cost_json(const Spec& spec, const Case& one);
std::string terms_json(const Spec& spec, const Case& one);

}  // namespace evolve
