// The spec of a kernel: what it computes, the cases it is judged and timed on, and what a sweep may
// change. Parsed from spec.yaml (schema: kernels/README.md); written as the JSON files that the
// steps read.
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
  std::vector<std::string> shape;  // a formula over the dimensions, each
  std::string dtype;               // "bfloat16"
  // Of an input: the least and the largest value that it may have, formulas over the dimensions;
  // empty: any value of its dtype.
  std::vector<std::string> range;
  std::string sum;               // of whole numbers, along the last axis: a formula; empty: any
  std::vector<std::string> are;  // "sorted", "distinct": along the last axis
  // Of whole numbers instead: what they are, of the inputs before them and the dimensions, as
  // rules/steps/whole_numbers.py reads it; empty: they are drawn.
  std::string values;
};

struct Case {
  std::string name;                     // fit for a folder: letters, digits, '_', '-'
  std::map<std::string, int64_t> dims;  // all of the spec's dimensions
  std::vector<std::string> tags;        // bench (timed), check (compared) or both; ci, holdout
  double weight = 1;                    // in the score, of a bench case

  // The call alone, where the kernel has gradients: what is not differentiated may be another
  // program. There is such a case, NAME-forward, for each that is written down.
  bool is_forward = false;

  [[nodiscard]] bool has_tag(std::string_view tag) const;
};

// |out - oracle| <= atol + rtol * |oracle| element by element, atol in units of the oracle's RMS
// where that is below 1, or at most max_error_ratio times the reference's own largest error; and
// the RMS error at most max_error_ratio times that of the reference; all against a float64 oracle.
struct Tolerance {
  double rtol = 1e-2;
  double atol = 1e-2;
  double max_error_ratio = 1.5;
};

// What a program must be to be worth checking; judged from its text (rules/steps/contract.py).
struct Contract {
  double min_flops = 0.75;          // inside of kernels, as a share of cost.flops
  double max_outside_flops = 0.05;  // outside of them, as a share of cost.flops
  int64_t max_constant_bytes = int64_t{1} << 20;
  std::string operand;           // a dot's narrowest operand; the default: that of the inputs
  bool is_operand_said = false;  // whether the spec names it
  std::string accumulator = "float32";  // the narrowest dtype that dots and sums add in
  std::string precision = "default";    // of float32 dots: "default" or "highest"
  // Steps that a variant may survive without, where they cannot be done on it: "interpret",
  // "values".
  std::vector<std::string> excused;
  // Words for what a program may do outside of its kernels beside what all may
  // (rules/steps/outside.py): "sorts", "gathers", ...
  std::vector<std::string> outside;
  // Modules that a kernel may import beside those that all may (rules/steps/candidate.py).
  std::vector<std::string> imports;
};

struct Cost {
  std::string flops;  // formulas over the dimensions
  std::string bytes;
  // The same of a call without gradients, where the kernel has some; empty: not said.
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
  // The inputs that the kernel is differentiated by. The judge takes the gradients, as further
  // outputs "d_INPUT", and gives the outputs' cotangents, as further inputs "d_OUTPUT".
  std::vector<std::string> gradients;
  Tolerance tolerance;
  Contract contract;
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;  // formulas over the parameters that must hold
  Cost cost;
};

// Parses and validates a spec's text. Bad input: anything that is not in the schema or not sound,
// with its place, the line and the nearest known name. `path` is for messages.
Result<Spec> parse_spec(std::string_view text, const std::string& path);

// Whether a case is compared: one that is said to be, and one that is timed and small enough for a
// CPU. What is timed should be right, and most tricks are for sizes at which nobody looks.
bool is_checked(const Spec& spec, const Case& one);

// Leaves those bench cases alone that are named: the others are not timed, and are gone where they
// are not checked either. Bad input: a name is no bench case's.
Status time_only(Spec& spec, const std::vector<std::string>& names);

// The files that the steps read: sorted keys, two blanks, a newline at the end.
std::string spec_json(const Spec& spec);
// No case name in it: cases of the same shapes share all that is computed from them.
// REQUIRES of this, of cost_json and of terms_json: `one` is a case of `spec`, which parse_spec
// returned.
std::string signature_json(const Spec& spec, const Case& one);
std::string tolerance_json(const Spec& spec);
std::string cost_json(const Spec& spec, const Case& one);
std::string terms_json(const Spec& spec, const Case& one);

}  // namespace evolve
