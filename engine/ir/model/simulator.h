// The model: runs a kernel's schedule as the core would. It runs the scalar unit exactly, and
// counts the cycles of the vector and matrix units' bundles. A bundle takes one cycle. A wait
// stalls until its sync flag has the wanted count. DMAs pass one after another through one queue at
// HBM bandwidth, each with a fixed latency. A transfer within the chip takes only the latency.
//
// Not modelled: more than one queue, HBM rows, bank conflicts, power, the other core. See
// engine/ir/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/ir/model/device.h"
#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// An event with a duration, in cycles from the kernel's start.
struct Span {
  enum class Kind : uint8_t { load, store, stall, step };
  Kind kind = Kind::step;
  double start = 0;
  double end = 0;
  double bytes = 0;  // of a load or a store
};

// The DMA traffic of one of the kernel's operands in HBM.
struct Traffic {
  uint64_t loads = 0;
  uint64_t stores = 0;
  double load_bytes = 0;
  double store_bytes = 0;
  double wait_cycles = 0;  // of waits that the operand's transfers ended
  bool operator==(const Traffic&) const = default;
};

// The operand of a transfer whose operand is not known.
constexpr uint32_t kNoOperand = UINT32_MAX;

// A guard of which the simulation does not know whether its instructions ran. The instructions are
// counted as if they ran.
struct UnknownGuard {
  uint64_t times = 0;
  std::string origin;  // what the guard depends on, for people
};

struct Simulation {
  double cycles = 0;
  uint64_t bundles = 0;        // executed
  uint64_t empty_bundles = 0;  // of these, without any instruction: latency
  double stall_cycles = 0;     // waiting for DMAs
  double latency_cycles = 0;   // of these, after the bytes have passed: only latency
  double drain_cycles = 0;     // after the last bundle, until the last bytes have arrived
  double added_up_cycles = 0;  // of passes of loops in steady state, which were not walked
  double matrix_cycles = 0;    // of an estimated module: products after the waits
  uint64_t loads = 0;          // DMAs from HBM; `stores`: DMAs to HBM
  uint64_t stores = 0;
  double load_bytes = 0;
  double store_bytes = 0;
  uint64_t steps = 0;  // backward branches taken: passes of the grid loop
  uint64_t matmuls = 0;
  uint64_t spills = 0;
  uint64_t fills = 0;
  uint32_t unknown_loop = 0;  // line of a backward branch whose predicate is not known; 0: none
  std::map<uint32_t, UnknownGuard> unknown_guards;  // by Schedule::guards
  std::array<uint64_t, kUnits> issued{};
  std::vector<uint64_t> executed;       // times, by bundle
  std::map<uint32_t, double> stalls;    // cycles, by the bundle that waits
  std::vector<uint64_t> opcodes;        // times executed, by Schedule::opcodes
  std::vector<uint64_t> calls;          // times executed, by Schedule::calls
  std::map<uint32_t, Traffic> traffic;  // by the number of the operand
  std::vector<Span> spans;              // the first and the last of each kind, up to kSpansKept
  bool spans_are_cut = false;
};

// The values of operands that the kernel's control flow depends on (scalars and prefetched tables),
// by the operand's number: 32-bit words in their order in memory. The values of other operands are
// not known.
using Parameters = std::map<uint32_t, std::vector<uint32_t>>;

// Assumptions about predicates that depend on data, which vector units compute (on_data.h).
struct DataBranches {
  struct OpenPredicate {
    uint32_t instruction = 0;  // the maker of the predicate, an index into Schedule::instructions
    std::string what;          // "line 12, on a value of the vector units that line 10 reads"
  };
  std::map<uint32_t, bool> holds;      // by the instruction that makes the predicate
  std::optional<OpenPredicate> asked;  // the predicate that ended the simulation, not yet assumed
};

constexpr size_t kSpansKept = 2000;
// The simulator walks no more bundles than kMostBundlesWalked. A schedule that runs more than
// kMostBundles, minutes on a device, is not followed either.
constexpr uint64_t kMostBundlesWalked = 400'000'000;
constexpr uint64_t kMostBundles = 1'000'000'000'000;
struct SimulationOptions {
  uint64_t most_walked = kMostBundlesWalked;
  bool adds_up_loops = true;        // adds up loops in steady state (steady.h); false: walks all
  DataBranches* on_data = nullptr;  // null: a predicate on data ends the simulation
  uint64_t most_bundles = kMostBundles;
};

// Limits of a schedule: DMAs under way to one flag, words in SMEM, flags. No real schedule has
// more, and more would exhaust the simulator's own memory.
constexpr size_t kMostArrivals = size_t{1} << 16;
constexpr size_t kMostSmemWords = size_t{1} << 20;
constexpr size_t kMostFlags = size_t{1} << 16;

// Runs the schedule. The simulator never guesses. It returns an error of code `failed` if it cannot
// follow the schedule: at control flow that depends on values in memory, at a wait that nothing
// ends, or in a loop without end.
Result<Simulation> simulate(const Schedule& schedule, const Device& device,
                            const Parameters& parameters = {},
                            const SimulationOptions& options = {});

// Runs the top-level program of a module without its kernels. The top-level program calls the
// kernels and moves operands for them. An instruction does not run if its predicate depends on
// values in memory (the core's number, traces, barriers).
Result<Simulation> simulate_top_level(const Schedule& schedule, const Device& device);

}  // namespace evolve::ir
