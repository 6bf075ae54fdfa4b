#include "engine/ir/model/lost_time.h"

#include <algorithm>

namespace evolve::ir {

namespace {

constexpr size_t kMatrixUnits = 10;  // their number is a digit in the dump

Cause cause_of(const Schedule& schedule, const Bundle& bundle) {
  uint32_t spills = 0;
  uint32_t vector = 0;
  for (uint32_t i = 0; i < bundle.issues; ++i) {
    const Opcode& opcode = schedule.opcodes[schedule.issues[bundle.first_issue + i]];
    if (opcode.is_spill) ++spills;
    if (opcode.unit != Unit::scalar && opcode.unit != Unit::dma) ++vector;
  }
  if (bundle.issues == 0) return Cause::latency;
  if (vector == 0) return Cause::scalar;
  return vector == spills ? Cause::spill : Cause::vector;
}

}  // namespace

const char* cause_name(Cause cause) {
  constexpr std::array<const char*, kCauses> kNames = {
      "mxu", "vector", "spill", "scalar", "latency", "dma_bandwidth", "dma_latency", "drain"};
  return kNames[static_cast<size_t>(cause)];
}

const char* cause_words(Cause cause) {
  constexpr std::array<const char*, kCauses> kWords = {"matrix units busy",
                                                       "vector work while the matrix units idle",
                                                       "vector registers spilled and filled",
                                                       "scalar work and loop control alone",
                                                       "empty bundles that await results",
                                                       "waits for bytes from or to HBM",
                                                       "waits for the latency of DMAs",
                                                       "last DMAs after the last bundle"};
  return kWords[static_cast<size_t>(cause)];
}

uint32_t matmul_cycles(const Opcode& opcode, const Device& device) {
  return opcode.matmul_cycles * static_cast<uint32_t>(device.matmul_factor);
}

std::vector<Cause> causes_of(const Schedule& schedule, const Device& device) {
  std::vector<Cause> out(schedule.bundles.size());
  std::array<size_t, kMatrixUnits> busy_until{};
  for (size_t i = 0; i < out.size(); ++i) {
    const Bundle& bundle = schedule.bundles[i];
    for (uint32_t issue = 0; issue < bundle.issues; ++issue) {
      const Opcode& opcode = schedule.opcodes[schedule.issues[bundle.first_issue + issue]];
      if (opcode.is_matmul) busy_until[opcode.mxu] = i + matmul_cycles(opcode, device);
    }
    bool is_busy =
        std::any_of(busy_until.begin(), busy_until.end(), [i](size_t until) { return i < until; });
    out[i] = is_busy ? Cause::mxu : cause_of(schedule, bundle);
  }
  return out;
}

CyclesByCause lost_time(const Schedule& schedule, const Simulation& simulation,
                        const Device& device) {
  CyclesByCause out{};
  auto at = [&](Cause cause) -> double& { return out[static_cast<size_t>(cause)]; };
  std::vector<Cause> causes = causes_of(schedule, device);
  for (size_t i = 0; i < causes.size(); ++i)
    at(causes[i]) += static_cast<double>(simulation.executed[i]);
  at(Cause::mxu) += simulation.matrix_cycles;
  at(Cause::dma_latency) += simulation.latency_cycles;
  at(Cause::dma_bandwidth) += simulation.stall_cycles - simulation.latency_cycles;
  at(Cause::drain) += simulation.drain_cycles;
  return out;
}

}  // namespace evolve::ir
