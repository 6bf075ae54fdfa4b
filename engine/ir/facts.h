// The facts that the step analyze writes about a compiled program. facts_json.h reads and writes
// facts.json, whose schema is in engine/ir/README.md. Seconds, cycles and bytes are totals: of one
// run in the facts of a kernel, and of all runs in the facts of a program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/model/program.h"
#include "engine/ir/model/work.h"

namespace evolve::ir {

// A case's costs, by the spec's formulas.
struct SpecCost {
  double flops = 0;
  double bytes = 0;  // the least that must cross HBM
};

// The model's name and version, as recorded in facts and times. If either changes, it is a
// different model.
constexpr const char* kModel = "schedule-simulator-5";

// The time that a cause takes. Facts have all causes, in the order of Cause.
struct CauseTime {
  std::string cause;  // "mxu"
  std::string what;   // in words
  double seconds = 0;
  double share = 0;
};

// The largest cause other than busy matrix units. `share` is the share of the time that would be
// saved without this cause.
struct Prize {
  std::string what;
  double share = 0;
};

struct BundleCounts {
  uint64_t in_text = 0;
  uint64_t executed = 0;
  uint64_t empty = 0;  // executed
};

struct MatmulCount {
  uint64_t executed = 0;
  uint64_t busy_cycles = 0;  // of a matrix unit
};

// Executed spills and fills of vector registers.
struct SpillCounts {
  uint64_t stores_executed = 0;
  uint64_t loads_executed = 0;
};

// The DMA traffic from HBM (loads) and to HBM (stores).
struct DmaTotals {
  double load_bytes = 0;
  double store_bytes = 0;
  uint64_t loads = 0;
  uint64_t stores = 0;
  std::optional<double> minimum_bytes;  // by the spec; nullopt: these are the totals of a kernel
};

// The executed work and its time, in one run of a kernel or in the whole program.
struct ExecutionFacts {
  double cycles = 0;
  double seconds = 0;
  double stall_cycles = 0;  // waits for DMAs
  std::vector<CauseTime> by_cause;
  std::string bottleneck;  // the cause that takes most of the time; "hbm", "dma_wait"
  std::string evidence;    // why, in words
  Prize prize;
  BundleCounts bundles;
  std::map<std::string, double> utilisation;  // instructions issued per cycle, by unit
  uint64_t matmuls = 0;
  std::map<std::string, MatmulCount> matmuls_by_opcode;
  std::map<std::string, uint64_t> opcodes;  // times executed
  std::map<std::string, uint64_t> unknown_opcodes;
  uint64_t unknown_guards = 0;
  uint64_t steps = 0;  // passes through loops
  SpillCounts spills;
  DmaTotals dma;
};

// The DMA traffic of an operand in one run of a kernel.
struct OperandTraffic {
  std::optional<uint32_t> operand;  // nullopt: of no operand, or within the chip
  std::string kind;                 // "input", "output"; empty: no operand
  std::string shape;                // "bf16[4096,4096]"; empty: no operand
  std::optional<uint64_t> bytes;    // the operand's size without padding; nullopt: not known
  uint64_t loads = 0;
  double load_bytes = 0;
  uint64_t stores = 0;
  double store_bytes = 0;
  double wait_seconds = 0;  // of the waits that these transfers ended
};

// The place of a section in the text, and its work.
struct SectionWork {
  uint64_t bundle = 0;  // the first
  uint64_t bundles = 0;
  uint32_t line = 0;  // of the dump
  uint64_t times = 0;
  std::map<std::string, double> by_cause;   // seconds, by cause; "wait": for DMAs
  std::map<std::string, uint64_t> opcodes;  // the most executed ones
  std::vector<std::string> source;          // "kernel.py:39"
};

// A piece of the text that control flow runs as one.
struct SectionFacts : SectionWork {
  double seconds = 0;  // of all executions
};

// The time that comes from a line of the source.
struct LineTime {
  std::string file;  // empty: no line
  uint32_t line = 0;
  double seconds = 0;
  double share = 0;
};

struct AllocationFacts {
  std::string space;  // "vmem"
  uint64_t bytes = 0;
  std::optional<uint64_t> offset;
  std::string shape;
  std::string tag;  // the purpose of the allocation
  bool is_spill = false;
  bool is_fixed = false;                        // a name for a given address; takes no room
  std::optional<std::array<uint64_t, 2>> live;  // the first and the last bundle
  uint32_t line = 0;                            // of the LLO pass
};

struct MemoryUse {
  uint64_t bytes = 0;
  uint64_t peak_live_bytes = 0;
  uint64_t spilled_bytes = 0;  // the part of the peak in spill slots
};

// Instructions of the last LLO pass, by opcode.
struct StaticCounts {
  std::map<std::string, uint64_t> transfers;
  std::map<std::string, uint64_t> waits;
  std::map<std::string, uint64_t> spills;
  std::map<std::string, uint64_t> fills;
};

// What a text uses of a unit, or a counter counts in a text, and how much there is room for.
struct StaticUse {
  uint64_t used = 0;
  uint64_t available = 0;
};

// The place in a dump that a fact comes from.
struct FactSource {
  std::string file;
  std::optional<uint64_t> line;
};

// The facts of one kernel (a module). All except `times` are for a single run.
struct KernelFacts : ExecutionFacts {
  std::string name;
  uint64_t times = 0;  // runs
  std::vector<OperandTraffic> traffic;
  std::vector<SectionFacts> sections;
  std::vector<LineTime> by_line;
  // Facts from dumps other than the schedule (static_facts.h). Nullopt: no readable dump has them.
  std::optional<std::vector<AllocationFacts>> allocations;
  std::optional<std::map<std::string, MemoryUse>> memory;  // by space
  std::optional<StaticCounts> static_counts;
  std::optional<std::map<std::string, StaticUse>> static_utilisation;  // by libtpu's units
  std::optional<std::map<std::string, StaticUse>> bundle_profile;      // by libtpu's counters
  std::optional<std::string> fingerprint;
  std::map<std::string, FactSource> sources;  // by the facts' names

  [[nodiscard]] double all_seconds() const { return seconds * static_cast<double>(times); }
};

struct ModelledTime {
  double seconds = 0;
  double low = 0;
  double high = 0;
  double cycles = 0;
  double added_up_share = 0;              // of loops in steady state that were not walked
  std::optional<double> cheaper_seconds;  // nullopt: control flow does not depend on data
};

// Control flow of a module that depends on data. `what` describes it for people.
struct DataBranch {
  std::string kernel;
  std::string what;
};

// The windows of an operand: the buffers in VMEM for its blocks.
struct WindowFacts {
  std::string module;
  std::string operand;  // "input 0"
  std::string window;   // a block's shape
  uint64_t window_bytes = 0;
  uint64_t bytes = 0;
  uint64_t buffers = 0;
};

// The largest use of VMEM, and all kernels' windows. Nullopt: no VMEM report can be read.
struct VmemFacts {
  std::optional<uint64_t> allocated_bytes;
  std::optional<uint64_t> spilled_bytes;
  double capacity_bytes = 0;
  std::vector<WindowFacts> windows;
};

struct Roofline {
  double compute_seconds = 0;
  double memory_seconds = 0;
  std::string bound;  // "compute", "memory"
  double fraction_of_roofline = 0;
  double flops_per_second = 0;
};

// The signals that Glaucis reports, under its names (signals.h).
struct Signals {
  struct MatrixUnits {
    std::vector<uint64_t> matmuls;  // by unit
    uint64_t total = 0;
    double dual_ratio = 0;
  };
  struct BundleDensity {
    uint64_t total_bundles = 0;
    double avg_ops_per_bundle = 0;
    uint64_t max_ops_per_bundle = 0;
  };
  struct DmaAnalysis {
    uint64_t dma_count = 0;
    uint64_t dma_sync_count = 0;
    bool double_buffering = false;
  };
  struct SpecialUnits {
    uint64_t xlane_ops = 0;
    uint64_t eup_ops = 0;
    uint64_t nop_count = 0;
  };
  struct VmemAllocation {
    std::optional<uint64_t> vmem_bytes;
  };
  struct Utilisation {
    double mxu_util_pct = 0;
    double scalar_alu_util_pct = 0;
    double vector_alu_util_pct = 0;
    double vector_load_util_pct = 0;
    double vector_store_util_pct = 0;
    double vector_eup_util_pct = 0;
    uint64_t vector_fills = 0;
    uint64_t vector_spills = 0;
  };
  uint64_t vliw_bundle_count = 0;
  MatrixUnits mxu_utilization;
  double flops = 0;
  double hbm_bandwidth_bytes = 0;
  std::optional<double> arithmetic_intensity;
  double compute_efficiency_pct = 0;
  double hbm_bandwidth_utilization_pct = 0;
  VmemAllocation vmem_allocation;
  std::optional<double> vmem_utilization_pct;
  BundleDensity bundle_density;
  DmaAnalysis dma_analysis;
  SpecialUnits special_units;
  double compute_ratio = 0;
  double memory_transfer_ratio = 0;
  Utilisation hw_utilization;
};

struct FlopTotals {
  double executed = 0;  // on the matrix units
  double minimum = 0;   // by the spec
};

// The work that a program did (model/work.h).
struct WorkFacts {
  double matrix_flops = 0;
  double most_vector_flops = 0;
  double uncertain_flops = 0;
  double bytes = 0;
  double store_bytes = 0;
  std::string guard;  // empty: all FLOPs are certain
};

// The work that the program's case needs.
struct NeededFacts {
  double flops = 0;
  double bytes = 0;
  double output_bytes = 0;
  double share = 0;  // of the FLOPs
  bool is_average = false;
  double seconds = 0;  // the least time
};

struct Facts : ExecutionFacts {
  std::optional<Flaw> flaw;  // why the program did too little; nullopt: it may have done enough
  std::string target;
  std::string model;
  ModelledTime modelled;
  std::vector<DataBranch> on_data;
  VmemFacts vmem;
  Roofline roofline;
  std::vector<KernelFacts> kernels;
  std::map<std::string, std::string> estimated;     // modules, and why
  std::map<std::string, std::string> not_modelled;  // modules, and why
  std::vector<std::string> unread;                  // dumps that could not be read, and why
  Signals signals;
  FlopTotals flops;
  WorkFacts work;
  std::optional<NeededFacts> needed;  // nullopt: the program is not judged by a case
};

// Returns the facts of a program that was simulated; `unread` lists the dumps that cannot be read.
Result<Facts> facts_of(const ProgramRun& run, const Dumps& dumps, const SpecCost& cost,
                       const Device& device);

NeededFacts needed_facts(const Needs& needs, const Device& device);

}  // namespace evolve::ir
