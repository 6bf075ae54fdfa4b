#include "engine/ir/model/program.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/ir/model/on_data.h"
#include "engine/ir/readers/dump_name.h"
#include "engine/ir/readers/hlo.h"
#include "engine/ir/readers/hlo_branches.h"
#include "engine/ir/readers/hlo_loops.h"

namespace evolve::ir {

namespace {

constexpr std::string_view kSchedule = "/packed-bundles-post-ra.txt";
// HLO's opcode for a Pallas kernel.
constexpr std::string_view kKernel = "custom-call";

// The calls of the top-level program, by module.
struct Calls {
  std::map<std::string, uint64_t> times;
  std::map<std::string, std::string> opcodes;
};

Calls calls_of(const KernelRun& top_level) {
  Calls out;
  for (size_t i = 0; i < top_level.schedule.calls.size(); ++i) {
    const Call& call = top_level.schedule.calls[i];
    out.times[call.module] += top_level.simulation.calls[i];
    out.opcodes[call.module] = call.opcode;
  }
  return out;
}

class Runner {
 public:
  Runner(const Dumps& dumps, const Device& device, const ProgramInput& input)
      : dumps_(dumps), device_(device), input_(input) {}

  Result<ProgramRun> run() {
    std::string top_level(kTopLevel);
    if (auto text = dumps_.find(top_level + "/hlo.txt"); text != dumps_.end()) {
      TRY_ASSIGN(auto hlo, parse_hlo(text->second, text->first));
      hlo_ = std::move(hlo);
    }
    if (dumps_.contains(top_level + std::string(kSchedule))) {
      TRY(run_module(top_level));
      calls_ = calls_of(run_.kernels.back());
      count_calls(run_.kernels.back().simulation.unknown_loop);
      share_calls();
    }
    for (const auto& [path, text] : dumps_) {
      if (!path.ends_with(kSchedule)) continue;
      std::string name = path.substr(0, path.size() - kSchedule.size());
      if (name == kTopLevel) continue;
      TRY(run_module(name));
    }
    if (run_.kernels.empty()) return failed("the dumps hold no schedule");
    take_branches();
    return std::move(run_);
  }

 private:
  Status run_module(const std::string& name) {
    TRY_ASSIGN(auto schedule, parse_schedule(dumps_.at(name + std::string(kSchedule)), name));
    if (name == kTopLevel) {
      TRY_ASSIGN(auto simulation, simulate_top_level(schedule, device_));
      return add(name, std::move(schedule), DataRange{.dearer = std::move(simulation)}, 1);
    }
    auto called = calls_.times.find(name);
    uint64_t times = called == calls_.times.end() ? 1 : called->second;
    const ProgramInput::Runs inputs = is_kernel(name) ? input_.of(schedule) : ProgramInput::Runs();
    if (inputs.each == nullptr) {
      auto simulation = simulate_range(schedule, device_);
      return add(name, std::move(schedule), std::move(simulation), times);
    }
    // One input stands for all runs. Several inputs are all runs of a kernel. They count only once,
    // even if the program calls several modules of the kernel, because these modules are alike.
    bool is_for_all = inputs.each->size() == 1 && inputs.each->front().times == 1;
    if (!is_for_all && !counted_.insert(inputs.each).second) return {};
    if (!is_for_all) with_runs_.insert(name);
    for (const KernelInput& one : *inputs.each) {
      TRY_ASSIGN(auto parameters, lay_out(schedule, one.operands));
      if (auto status = add(name, schedule, simulate_range(schedule, device_, parameters),
                            is_for_all ? times : one.times * inputs.kernels);
          !status)
        return status;
    }
    return {};
  }

  [[nodiscard]] bool has_schedule(const std::string& module) const {
    return dumps_.contains(module + std::string(kSchedule));
  }

  // Multiplies the calls in XLA's own loops. The top-level program was followed through one pass of
  // such a loop. The loop's backward branch is in line `unknown_loop` (0: none). The HLO says how
  // many passes there are.
  void count_calls(uint32_t unknown_loop) {
    if (unknown_loop == 0) return;
    std::optional<HloLoops> loops;
    if (hlo_) loops.emplace(*hlo_);
    for (auto& [module, times] : calls_.times) {
      const auto passes =
          loops
              ? loops->passes_of(module)
              : failed(
                    "the number of passes of XLA's own loop is unknown without the program's HLO");
      if (!passes) {
        run_.not_modelled.emplace(module,
                                  fmt::format("line {}: {}", unknown_loop, passes.error().message));
      }
      times *= passes ? *passes : 1;
    }
  }

  // Adds the calls of modules without a schedule to modules that do the same work. XLA compiles
  // only one of several such modules.
  void share_calls() {
    std::map<std::string, std::string> compiled;  // modules by their work
    for (const auto& [module, times] : calls_.times) {
      if (has_schedule(module) && hlo_) compiled.emplace(hlo_->work_of(module), module);
    }
    std::map<std::string, uint64_t> shared;
    for (const auto& [module, times] : calls_.times) {
      if (times == 0) continue;
      own_calls_[module] = {module, times};
      if (has_schedule(module)) continue;
      auto other = hlo_ ? compiled.find(hlo_->work_of(module)) : compiled.end();
      if (other == compiled.end()) {
        estimate(module, times, "its schedule is not among the dumps");
      } else {
        shared[other->second] += times;
        own_calls_[module].compiled = other->second;
      }
    }
    for (const auto& [module, times] : shared) calls_.times[module] += times;
  }

  // Removes the calls in branches that do not run. The top-level program was followed through all
  // branches of XLA's conditionals, which depend on data, but only one branch of each counts.
  // Kernels whose runs were given one by one keep those runs.
  void take_branches() {
    if (!hlo_ || own_calls_.empty()) return;
    std::map<std::string, KernelRun*> kernels;
    for (KernelRun& one : run_.kernels) {
      if (!with_runs_.contains(one.name)) kernels[one.name] = &one;
    }
    std::map<std::string, CallCost> costs;
    for (const auto& [module, call] : own_calls_) {
      auto kernel = kernels.find(call.compiled);
      if (kernel == kernels.end()) continue;
      const Simulation& dearer = kernel->second->simulation;
      const Simulation& cheaper = kernel->second->cheaper.value_or(dearer);
      const auto times = static_cast<double>(call.times);
      costs[module] = {times * dearer.cycles, times * cheaper.cycles};
    }
    const HloSides sides = sides_of(*hlo_, costs);
    for (const auto& [module, call] : own_calls_) {
      auto kernel = kernels.find(call.compiled);
      auto conditional = sides.conditionals.find(module);
      if (kernel == kernels.end() || conditional == sides.conditionals.end()) continue;
      KernelRun& one = *kernel->second;
      one.conditional = conditional->second;
      if (!one.cheaper_times) one.cheaper_times = one.times;
      if (sides.left_out_of_dearer.contains(module)) one.times -= call.times;
      if (sides.left_out_of_cheaper.contains(module)) *one.cheaper_times -= call.times;
    }
    for (KernelRun& one : run_.kernels) {
      if (one.name != kTopLevel) continue;
      for (const std::string& what : sides.on_data)
        one.on_data.push_back(fmt::format("the conditional {}", what));
    }
  }

  // Whether the input's operands are meant for the module. XLA's own modules have no operands that
  // matter.
  [[nodiscard]] bool is_kernel(const std::string& name) const {
    if (hlo_) {
      const HloInstruction* instruction = hlo_->find(name);
      return instruction != nullptr &&
             instruction->attribute("custom_call_target") == kKernelTarget;
    }
    auto opcode = calls_.opcodes.find(name);
    return opcode == calls_.opcodes.end() || opcode->second == kKernel;
  }

  // Whether the module is a Pallas kernel, or a fusion of XLA's with a Pallas kernel. The time of
  // such a module is never estimated.
  [[nodiscard]] bool has_kernel(const std::string& name) const {
    return hlo_ ? hlo_->has_kernel(name) : is_kernel(name);
  }

  Status add(const std::string& name, Schedule schedule, Result<DataRange> simulation,
             uint64_t times) {
    if (!simulation && name != kTopLevel && !has_kernel(name)) {
      estimate(name, times, simulation.error().message);
      return {};
    }
    if (!simulation) return std::move(simulation).error();
    run_.kernels.push_back({.name = name,
                            .schedule = std::move(schedule),
                            .simulation = std::move(simulation->dearer),
                            .cheaper = std::move(simulation->cheaper),
                            .on_data = std::move(simulation->on_data),
                            .times = times,
                            .cheaper_times = std::nullopt,
                            .conditional = "",
                            .has_kernel = name != kTopLevel && has_kernel(name)});
    return {};
  }

  // Estimates the time of a module that XLA made. Most of these modules only move bytes. If a
  // module's matrix products take longer, their time counts.
  void estimate(const std::string& name, uint64_t times, const std::string& why) {
    if (!hlo_ || hlo_->find(name) == nullptr || has_kernel(name)) {
      run_.not_modelled[name] = why;
      return;
    }
    Simulation moves;
    const HloModule::HbmBytes bytes = hlo_->hbm_bytes_of(name);
    moves.load_bytes = bytes.read;
    moves.store_bytes = bytes.written;
    moves.latency_cycles = device_.dma_latency_seconds * device_.clock_hz;
    moves.stall_cycles = moves.latency_cycles + (bytes.read + bytes.written) /
                                                    device_.hbm_bytes_per_second * device_.clock_hz;
    const double matrix_cycles =
        hlo_->matrix_flops_of(name) / device_.peak_flops * device_.clock_hz;
    moves.matrix_cycles = std::max(0.0, matrix_cycles - moves.stall_cycles);
    moves.cycles = moves.stall_cycles + moves.matrix_cycles;
    run_.estimated[name] = why;
    KernelRun& added = run_.kernels.emplace_back();
    added.name = name;
    added.simulation = std::move(moves);
    added.times = times;
  }

  const Dumps& dumps_;
  const Device& device_;
  const ProgramInput& input_;
  std::optional<HloModule> hlo_;
  Calls calls_;
  // The top-level program's calls of one module, before modules with the same work are merged.
  struct OwnCalls {
    std::string compiled;  // the module that was compiled for this one
    uint64_t times = 0;
  };
  std::map<std::string, OwnCalls> own_calls_;
  std::set<std::string> with_runs_;  // modules whose runs are given one by one
  std::set<const std::vector<KernelInput>*> counted_;
  ProgramRun run_;
};

}  // namespace

double ProgramRun::cycles() const {
  double sum = 0;
  for (const KernelRun& kernel : kernels) sum += kernel.all_cycles();
  return sum;
}

Result<ProgramRun> run_program(const Dumps& dumps, const Device& device,
                               const ProgramInput& input) {
  return Runner(dumps, device, input).run();
}

}  // namespace evolve::ir
