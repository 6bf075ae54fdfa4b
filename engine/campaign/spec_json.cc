// The JSON files that the steps read, made from a spec.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/campaign/spec.h"
#include "engine/core/expression.h"
#include "engine/core/json_text.h"

namespace evolve {

namespace {

// Limits of a timed case that is also checked. Within these limits, seven sets of inputs take a few
// seconds on a core.
constexpr int64_t kMostCheckedFlops = int64_t{1} << 31;
constexpr int64_t kMostCheckedBytes = int64_t{1} << 28;

using nlohmann::json;

std::string written(const json& value) {
  return json_block(value) + "\n";
}

json tensors_json(const std::vector<Tensor>& tensors) {
  json out = json::array();
  for (const Tensor& tensor : tensors) {
    out.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"dtype", tensor.dtype}});
  }
  return out;
}

int64_t value_of(const std::string& formula, const Case& one) {
  auto value = evaluate_whole(formula, one.dims);
  return value ? *value : 0;  // parse_spec has checked that there is a value
}

json sizes_json(const std::vector<Tensor>& tensors, const Case& one) {
  json out = json::array();
  for (const Tensor& tensor : tensors) {
    json shape = json::array();
    for (const std::string& size : tensor.shape) shape.push_back(value_of(size, one));
    out.push_back({{"name", tensor.name}, {"shape", shape}, {"dtype", tensor.dtype}});
    json range = json::array();
    for (const std::string& limit : tensor.range) {
      auto value = evaluate(limit, one.dims);
      range.push_back(value ? *value : 0.0);
    }
    if (!range.empty()) out.back()["range"] = range;
    if (!tensor.sum.empty()) out.back()["sum"] = value_of(tensor.sum, one);
    if (!tensor.are.empty()) out.back()["are"] = tensor.are;
    if (!tensor.values.empty())
      out.back()["values"] = {{"text", tensor.values}, {"dims", one.dims}};
  }
  return out;
}

// Returns a tensor's cotangent or gradient: the same tensor under another name, without limits on
// its values.
json derivative_of(json tensor) {
  tensor["name"] = "d_" + tensor["name"].get<std::string>();
  for (const char* key : {"range", "sum", "are", "values"}) tensor.erase(key);
  return tensor;
}

// Returns the bits of a dtype, which are in its name. A bool takes a byte.
int64_t bits_of(const std::string& dtype) {
  const size_t digit = dtype.find_first_of("0123456789");
  return digit == std::string::npos ? 8 : std::strtoll(dtype.c_str() + digit, nullptr, 10);
}

int64_t bytes_of(const std::vector<Tensor>& tensors, const Case& one) {
  int64_t bits = 0;
  for (const Tensor& tensor : tensors) {
    int64_t size = bits_of(tensor.dtype);
    for (const std::string& length : tensor.shape) size *= value_of(length, one);
    bits += size;
  }
  return bits / 8;
}

// Whether the spec states the cost of a case. A spec need not state the cost of a call without
// gradients. The cost of the call is then 0 flops and the bytes of its outputs.
bool is_cost_said(const Spec& spec, const Case& one) {
  return !one.is_forward || !spec.cost.forward_flops.empty();
}

int64_t flops_of(const Spec& spec, const Case& one) {
  if (!is_cost_said(spec, one)) return 0;
  return value_of(one.is_forward ? spec.cost.forward_flops : spec.cost.flops, one);
}

int64_t bytes_of(const Spec& spec, const Case& one) {
  if (!is_cost_said(spec, one)) return bytes_of(spec.outputs, one);
  return value_of(one.is_forward ? spec.cost.forward_bytes : spec.cost.bytes, one);
}

json tolerance_of(const Tolerance& tolerance) {
  return {{"rtol", tolerance.rtol},
          {"atol", tolerance.atol},
          {"max_error_ratio", tolerance.max_error_ratio}};
}

}  // namespace

bool is_checked(const Spec& spec, const Case& one) {
  if (one.has_tag("check") || one.has_tag("parts")) return one.has_tag("check");
  // A kernel that works in place moves few of its inputs' bytes, but the check reads all of them.
  const int64_t arrays = bytes_of(spec.inputs, one) + bytes_of(spec.outputs, one);
  return value_of(spec.cost.flops, one) <= kMostCheckedFlops &&
         std::max(value_of(spec.cost.bytes, one), arrays) <= kMostCheckedBytes;
}

std::string spec_json(const Spec& spec) {
  json cases = json::array();
  for (const Case& one : spec.cases) {
    std::vector<std::string> tags = one.tags;
    if (is_checked(spec, one) && !one.has_tag("check")) tags.emplace_back("check");
    cases.push_back(
        {{"name", one.name}, {"dims", one.dims}, {"tags", tags}, {"weight", one.weight}});
  }
  json parameters = json::array();
  for (const Parameter& parameter : spec.parameters) {
    parameters.push_back({{"name", parameter.name}, {"values", parameter.values}});
  }
  return written({{"name", spec.name},
                  {"formula", spec.formula},
                  {"entry", spec.entry},
                  {"dimensions", spec.dimensions},
                  {"inputs", tensors_json(spec.inputs)},
                  {"outputs", tensors_json(spec.outputs)},
                  {"cases", cases},
                  {"tolerance", tolerance_of(spec.tolerance)},
                  {"parameters", parameters},
                  {"constraints", spec.constraints},
                  {"excused", spec.contract.excused},
                  {"outside", spec.contract.outside},
                  {"cost", {{"flops", spec.cost.flops}, {"bytes", spec.cost.bytes}}}});
}

std::string signature_json(const Spec& spec, const Case& one) {
  json inputs = sizes_json(spec.inputs, one), outputs = sizes_json(spec.outputs, one);
  json out = {{"name", spec.name}};
  if (!spec.contract.imports.empty()) out["imports"] = spec.contract.imports;
  if (!spec.gradients.empty() && !one.is_forward) {
    json gradients, positions = json::array();
    for (const std::string& name : spec.gradients) {
      auto input = std::find_if(inputs.begin(), inputs.end(),
                                [&](const json& each) { return each["name"] == name; });
      positions.push_back(std::distance(inputs.begin(), input));
      gradients.push_back(derivative_of(*input));
    }
    for (const json& output : outputs) inputs.push_back(derivative_of(output));
    for (const json& gradient : gradients) outputs.push_back(gradient);
    out["gradients"] = positions;
  }
  out["inputs"] = inputs;
  out["outputs"] = outputs;
  return written(out);
}

std::string tolerance_json(const Spec& spec) {
  return written(tolerance_of(spec.tolerance));
}

std::string cost_json(const Spec& spec, const Case& one) {
  return written(
      {{"flops", flops_of(spec, one)}, {"bytes", bytes_of(spec, one)}, {"dims", one.dims}});
}

std::string terms_json(const Spec& spec, const Case& one) {
  const Contract& contract = spec.contract;
  const auto is_timed = [](const Case& each) { return each.has_tag("bench"); };
  // Only timed cases have the limit of flops outside of kernels. Without timed cases, all have it.
  const bool counts = is_timed(one) || std::none_of(spec.cases.begin(), spec.cases.end(), is_timed);
  // A call whose cost is not stated has no minimum of flops. Its limit of flops outside of kernels
  // is that of the call with gradients.
  const bool is_said = is_cost_said(spec, one);
  return written({{"flops", is_said ? flops_of(spec, one) : value_of(spec.cost.flops, one)},
                  {"is_timed", counts},
                  {"min_flops", is_said ? contract.min_flops : 0.0},
                  {"max_outside_flops", contract.max_outside_flops},
                  {"max_constant_bytes", contract.max_constant_bytes},
                  {"outside", contract.outside},
                  {"operand", contract.operand},
                  {"is_operand_said", contract.is_operand_said},
                  {"accumulator", contract.accumulator},
                  {"precision", contract.precision}});
}

}  // namespace evolve
