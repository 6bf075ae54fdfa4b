#include "engine/ir/model/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

namespace evolve::ir {

namespace {

using nlohmann::json;

// The share by which sums of fractions may be off, because of rounding.
constexpr double kRounding = 1e-6;

// Returns the number of elements of a vector register. Several elements below 32 bits share a word.
double elements_of(std::string_view opcode) {
  constexpr double kWords = 1024;
  auto has = [&](std::string_view type) { return opcode.find(type) != std::string_view::npos; };
  if (has(".f8") || has(".s8") || has(".u8") || has(".b8")) return 4 * kWords;
  return has("16") ? 2 * kWords : kWords;
}

// Returns the FLOPs of one run of a kernel on its matrix units, or on its other units. Each opcode
// ran as often as `times` says.
double executed_flops(const Schedule& schedule, const std::vector<uint64_t>& times,
                      const Device& device, bool of_matrix_units) {
  double sum = 0;
  for (size_t i = 0; i < schedule.opcodes.size(); ++i) {
    if (schedule.opcodes[i].is_matmul != of_matrix_units) continue;
    sum += static_cast<double>(times[i]) * most_flops_of(schedule.opcodes[i], device);
  }
  return sum;
}

// Returns the bits of one number of a dtype: "bfloat16" has 16. A bool is a byte. A TPU's arrays
// have at most 32 bits per number.
int bits_of(const std::string& dtype) {
  const size_t at = dtype.find_first_of("0123456789");
  return at == std::string::npos ? 8 : std::min(32, std::atoi(dtype.c_str() + at));
}

bool is_whole(const std::string& dtype) {
  return dtype == "bool" || dtype.starts_with("int") || dtype.starts_with("uint");
}

// Returns the bytes of a signature's inputs or outputs.
double bytes_of(const json& tensors) {
  double sum = 0;
  for (const json& tensor : tensors) {
    double count = 1;
    for (const json& extent : tensor.at("shape")) count *= extent.get<double>();
    sum += count * bits_of(tensor.at("dtype")) / 8;
  }
  return sum;
}

double peak_of(const Needs& needs, const Device& device) {
  return device.peak_flops * std::max(1, 16 / std::max(1, needs.operand_bits));
}

Flaw suspicious(std::string reason) {
  return {"suspicious", std::move(reason)};
}

std::string as_percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

}  // namespace

double most_flops_of(const Opcode& opcode, const Device& device) {
  if (opcode.is_matmul) return 2.0 * opcode.matmul_rows * device.matrix_size * device.matrix_size;
  if (opcode.unit != Unit::valu && opcode.unit != Unit::xlu && opcode.unit != Unit::eup) return 0;
  const bool is_fused = opcode.name.find("fma") != std::string::npos ||
                        opcode.name.find("mac") != std::string::npos ||
                        opcode.name.find("mad") != std::string::npos;
  return (is_fused ? 2 : 1) * elements_of(opcode.name);
}

Work work_of(const ProgramRun& run, const Device& device) {
  Work out;
  double most_uncertain = 0;
  // The bytes on the dearer and on the cheaper (least) side of XLA's conditionals.
  double load_bytes = 0, store_bytes = 0, least_load_bytes = 0, least_store_bytes = 0;
  for (const KernelRun& kernel : run.kernels) {
    const Simulation& one = kernel.simulation;
    const Simulation& least = kernel.cheaper ? *kernel.cheaper : one;
    const auto times = static_cast<double>(kernel.times);
    const auto least_times = static_cast<double>(kernel.cheaper_times.value_or(kernel.times));
    load_bytes += times * std::min(one.load_bytes, least.load_bytes);
    store_bytes += times * std::min(one.store_bytes, least.store_bytes);
    least_load_bytes += least_times * std::min(one.load_bytes, least.load_bytes);
    least_store_bytes += least_times * std::min(one.store_bytes, least.store_bytes);
    if (!kernel.has_kernel) continue;
    auto note = [&](double flops, const std::string& what) {
      out.uncertain_flops += flops;
      if (flops <= most_uncertain) return;
      most_uncertain = flops;
      out.guard = fmt::format("{}: {}", kernel.name, what);
    };
    if (kernel.cheaper && kernel.conditional.empty()) {
      double surplus = 0;
      for (bool of_matrix_units : {true, false})
        surplus += executed_flops(kernel.schedule, one.opcodes, device, of_matrix_units) -
                   executed_flops(kernel.schedule, least.opcodes, device, of_matrix_units);
      note(times * std::max(0.0, surplus), kernel.on_data.front());
    }
    const double matrix_flops = times * executed_flops(kernel.schedule, one.opcodes, device, true);
    const double vector_flops = times * executed_flops(kernel.schedule, one.opcodes, device, false);
    out.matrix_flops += matrix_flops;
    out.vector_flops += vector_flops;
    if (!kernel.conditional.empty()) {
      note(matrix_flops + vector_flops,
           fmt::format("it is in the conditional {}", kernel.conditional));
      continue;
    }
    for (const auto& [number, unknown] : one.unknown_guards) {
      const Guard& guard = kernel.schedule.guards[number];
      double flops = 0;
      for (uint16_t opcode : guard.opcodes)
        flops += most_flops_of(kernel.schedule.opcodes[opcode], device);
      note(flops * times * static_cast<double>(unknown.times),
           fmt::format("line {}, which depends on {}", guard.line, unknown.origin));
    }
  }
  out.load_bytes = std::min(load_bytes, least_load_bytes);
  out.store_bytes = std::min(store_bytes, least_store_bytes);
  return out;
}

Result<Needs> read_needs(const json& cost, const json& terms, const json& signature) try {
  Needs out;
  out.flops = cost.at("flops");
  out.share = terms.at("min_flops");
  out.output_bytes = bytes_of(signature.at("outputs"));
  out.bytes =
      std::min(cost.at("bytes").get<double>(), bytes_of(signature.at("inputs")) + out.output_bytes);
  const std::string operand = terms.at("operand");
  if (!operand.empty()) out.operand_bits = std::min(out.operand_bits, bits_of(operand));
  for (const json& input : signature.at("inputs")) {
    const std::string dtype = input.at("dtype");
    out.is_average = out.is_average || is_whole(dtype);
    if (dtype != "bool") out.operand_bits = std::min(out.operand_bits, bits_of(dtype));
  }
  return out;
} catch (const json::exception& error) {
  return bad_input(fmt::format("a case's cost, terms or signature: {}", error.what()));
}

double least_seconds(const Needs& needs, const Device& device) {
  const double whole =
      std::max(needs.flops / peak_of(needs, device), needs.bytes / device.hbm_bytes_per_second);
  return needs.is_average ? kSureShare * whole : whole;
}

std::optional<Flaw> flaw_of(const Work& work, double seconds, const Needs& needs,
                            const Device& device) {
  const double executed = work.matrix_flops + work.vector_flops;
  const double asked = needs.share * needs.flops;
  if (executed < asked) {
    return suspicious(fmt::format(
        "the kernels execute at most {:.4g} floating-point operations, {} of the {:.4g} of the "
        "spec's cost.flops; contract.min_flops asks for {}",
        executed, as_percent(executed / needs.flops), needs.flops, as_percent(needs.share)));
  }
  if (executed - work.uncertain_flops < asked) {
    return Flaw{"not_modelled",
                fmt::format("whether {:.4g} of {:.4g} floating-point operations run is not known: "
                            "{}; let it depend on sizes or whole-number inputs",
                            work.uncertain_flops, executed, work.guard)};
  }
  if (work.store_bytes < needs.output_bytes * (1 - kRounding)) {
    return suspicious(fmt::format("{:.4g} bytes are written to HBM, and the outputs have {:.4g}",
                                  work.store_bytes, needs.output_bytes));
  }
  const double moved = work.load_bytes + work.store_bytes;
  if (moved < kSureShare * needs.bytes * (1 - kRounding)) {
    return suspicious(fmt::format(
        "{:.4g} bytes move between HBM and VMEM, {} of the {:.4g} that inputs and outputs need, "
        "and "
        "at least {} are asked for; where the case needs less, the spec's cost.bytes should say so",
        moved, as_percent(moved / needs.bytes), needs.bytes, as_percent(kSureShare)));
  }
  const double least = least_seconds(needs, device);
  if (seconds < least * (1 - kRounding)) {
    return suspicious(fmt::format(
        "the modelled time of {:.4g} s is below the roofline of {}, {:.4g} s: {:.4g} "
        "floating-point operations at {:.4g} a second, {:.4g} bytes at {:.4g} a "
        "second{}; where the "
        "case needs less, the spec's cost should say so",
        seconds, device.name, least, needs.flops, peak_of(needs, device), needs.bytes,
        device.hbm_bytes_per_second,
        needs.is_average ? fmt::format(", and of that {}", as_percent(kSureShare)) : ""));
  }
  return std::nullopt;
}

}  // namespace evolve::ir
