#include "engine/ir/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

namespace evolve::ir {

namespace {

constexpr double kGranuleBytes = 32;
constexpr uint32_t kGranuleWords = 8;

// A value of the scalar unit; nullopt: not known to the model.
using Value = std::optional<uint32_t>;

// Keeps the first and the last spans of one kind.
class SpanLog {
 public:
  void add(const Span& span) {
    if (first_.size() < kSpansKept / 2) {
      first_.push_back(span);
      return;
    }
    last_.push_back(span);
    if (last_.size() > kSpansKept / 2) {
      last_.pop_front();
      is_cut_ = true;
    }
  }
  void append_to(Simulation& out) const {
    out.spans.insert(out.spans.end(), first_.begin(), first_.end());
    out.spans.insert(out.spans.end(), last_.begin(), last_.end());
    out.spans_are_cut = out.spans_are_cut || is_cut_;
  }

 private:
  std::vector<Span> first_;
  std::deque<Span> last_;
  bool is_cut_ = false;
};

class Core {
 public:
  Core(const Schedule& schedule, const Device& device, const Parameters& parameters,
       bool is_lenient)
      : schedule_(schedule),
        device_(device),
        parameters_(parameters),
        is_lenient_(is_lenient),
        slots_(static_cast<size_t>(schedule.slots)),
        registers_(static_cast<size_t>(schedule.registers)),
        executed_(schedule.bundles.size(), 0) {}

  Result<Simulation> run() {
    size_t at = 0;
    int delay = -1;  // bundles until a taken branch takes effect; -1: none is under way
    size_t target = 0;
    while (at < schedule_.bundles.size()) {
      if (++out_.bundles > kMostBundlesExecuted) return stuck(at, "it runs too long");
      ++executed_[at];
      const Bundle& bundle = schedule_.bundles[at];
      std::optional<uint32_t> branch;
      if (bundle.count > 0) {
        auto status = execute(bundle, branch);
        if (!status) return stuck(at, status.error().message);
      }
      cycle_ += 1;
      bool has_arrived = delay == 0 && !branch;
      if (branch) {
        delay = device_.branch_delay_bundles;
        target = *branch;
        if (target <= at) end_step();
      }
      if (has_arrived || (branch && delay == 0)) {
        at = target;
        delay = -1;
      } else {
        ++at;
      }
      if (delay > 0) --delay;
    }
    return finish();
  }

 private:
  Error stuck(size_t at, const std::string& why) const {
    return failed(fmt::format("{}:{}: the model cannot follow: {}", schedule_.name,
                              schedule_.bundles[at].line, why));
  }

  void end_step() {
    ++out_.steps;
    steps_.add({Span::Kind::step, step_start_, cycle_, 0});
    step_start_ = cycle_;
  }

  Simulation finish() {
    // The kernel ends when its last bytes have arrived.
    out_.cycles = std::max(cycle_, last_completion_);
    for (size_t i = 0; i < executed_.size(); ++i) {
      const Bundle& bundle = schedule_.bundles[i];
      uint64_t instructions = 0;
      for (size_t unit = 0; unit < kUnits; ++unit) {
        out_.issued[unit] += executed_[i] * bundle.issued[unit];
        instructions += bundle.issued[unit];
      }
      out_.matmuls += executed_[i] * bundle.matmuls;
      out_.spills += executed_[i] * bundle.spills;
      out_.fills += executed_[i] * bundle.fills;
      if (instructions == 0) out_.empty_bundles += executed_[i];
    }
    for (const SpanLog* log : {&steps_, &loads_, &stores_, &stalls_}) log->append_to(out_);
    return std::move(out_);
  }

  Status execute(const Bundle& bundle, std::optional<uint32_t>& branch) {
    for (uint32_t i = bundle.first; i < bundle.first + bundle.count; ++i) {
      const Instruction& one = schedule_.instructions[i];
      auto holds = predicate(one);
      if (!holds) {
        if (one.result == kNone && !is_lenient_)
          return failed("a predicate that is not known to it");
        write(one, std::nullopt);
        continue;
      }
      if (!*holds) {
        if (one.passed.is_known) write(one, read(one.passed));
        continue;
      }
      Status status;
      switch (one.op) {
        case Op::branch: branch = one.target; break;
        case Op::dma: status = start_dma(one); break;
        case Op::wait: status = wait(one); break;
        case Op::flag_set: status = set_flag(one, false); break;
        case Op::flag_add: status = set_flag(one, true); break;
        case Op::store_smem: store(one); break;
        default: write(one, result_of(one)); break;
      }
      if (!status && !is_lenient_) return status;
    }
    return {};
  }

  // Whether the instruction runs; nullopt: not known.
  [[nodiscard]] std::optional<bool> predicate(const Instruction& one) const {
    if (one.predicate == kNone) return true;
    Value value = slots_[static_cast<size_t>(one.predicate)];
    if (!value) return std::nullopt;
    return (*value != 0) != one.negated;
  }

  [[nodiscard]] Value read(const Operand& operand) const {
    if (!operand.is_known) return std::nullopt;
    uint32_t sum = operand.constant;
    for (int32_t slot : {operand.slot, operand.index}) {
      if (slot == kNone) continue;
      Value value = slots_[static_cast<size_t>(slot)];
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum;
  }

  void write(const Instruction& one, Value value) {
    if (one.result == kNone) return;
    slots_[static_cast<size_t>(one.result)] = value;
    if (one.reg != kNone) registers_[static_cast<size_t>(one.reg)] = value;
  }

  [[nodiscard]] Value result_of(const Instruction& one) const {
    if (one.op == Op::phi)
      return one.reg == kNone ? Value() : registers_[static_cast<size_t>(one.reg)];
    if (one.op == Op::unknown) return std::nullopt;
    Value a = read(one.operands[0]);
    if (one.op == Op::parameter) return a ? word_of(*a, 0) : Value();
    if (one.op == Op::load_smem) return a ? load(*a) : Value();
    if (one.op == Op::select) return a ? read(one.operands[*a != 0 ? 1 : 2]) : Value();
    if (!a) return std::nullopt;
    if (one.op == Op::copy) return a;
    if (one.op == Op::pred_not) return *a == 0 ? 1 : 0;
    Value b = read(one.operands[1]);
    if (!b) return std::nullopt;
    return binary(one.op, *a, *b);
  }

  static Value binary(Op op, uint32_t a, uint32_t b) {
    auto sa = static_cast<int32_t>(a);
    auto sb = static_cast<int32_t>(b);
    switch (op) {
      case Op::add: return a + b;
      case Op::sub: return a - b;
      case Op::mul: return a * b;
      case Op::shift_left: return b < 32 ? a << b : 0;
      case Op::shift_right: return b < 32 ? a >> b : 0;
      case Op::shift_right_signed: return static_cast<uint32_t>(sa >> std::min<uint32_t>(b, 31));
      case Op::bit_and: return a & b;
      case Op::bit_or: return a | b;
      case Op::bit_xor: return a ^ b;
      case Op::min_s: return static_cast<uint32_t>(std::min(sa, sb));
      case Op::max_s: return static_cast<uint32_t>(std::max(sa, sb));
      case Op::min_u: return std::min(a, b);
      case Op::max_u: return std::max(a, b);
      case Op::eq: return a == b ? 1 : 0;
      case Op::ne: return a != b ? 1 : 0;
      case Op::lt_s: return sa < sb ? 1 : 0;
      case Op::le_s: return sa <= sb ? 1 : 0;
      case Op::gt_s: return sa > sb ? 1 : 0;
      case Op::ge_s: return sa >= sb ? 1 : 0;
      case Op::lt_u: return a < b ? 1 : 0;
      case Op::le_u: return a <= b ? 1 : 0;
      case Op::gt_u: return a > b ? 1 : 0;
      case Op::ge_u: return a >= b ? 1 : 0;
      case Op::pred_or: return (a | b) != 0 ? 1 : 0;
      case Op::pred_and: return a != 0 && b != 0 ? 1 : 0;
      case Op::pred_nand: return a != 0 && b != 0 ? 0 : 1;
      case Op::pred_xor: return (a != 0) != (b != 0) ? 1 : 0;
      default: return std::nullopt;
    }
  }

  [[nodiscard]] Value load(uint32_t address) const {
    auto found = smem_.find(address);
    return found == smem_.end() ? Value() : found->second;
  }

  void store(const Instruction& one) {
    if (auto address = read(one.operands[0])) {
      smem_[*address] = read(one.operands[1]);
    } else {
      smem_.clear();  // it may have been anywhere
    }
  }

  // A word of an operand.
  [[nodiscard]] Value word_of(uint32_t number, size_t word) const {
    auto found = parameters_.find(number);
    if (found == parameters_.end() || word >= found->second.size()) return std::nullopt;
    return found->second[word];
  }

  // Of an operand in VMEM, by a DMA whose source counts granules, into the scalar memory, which
  // counts words. What comes from elsewhere is not known.
  void copy_to_smem(Value source, uint32_t granules, Value destination) {
    if (!destination) {
      smem_.clear();
      return;
    }
    constexpr uint32_t kBits = 24;  // parameter_address(n) in granules
    uint32_t number = source ? (*source >> kBits) - 1 : UINT32_MAX;
    uint32_t first = source ? (*source & ((1U << kBits) - 1)) * kGranuleWords : 0;
    for (uint32_t word = 0; word < granules * kGranuleWords; ++word)
      smem_[*destination + word] = word_of(number, first + word);
  }

  struct Arrival {
    double at;
    int64_t granules;
  };
  struct Flag {
    int64_t count = 0;
    std::deque<Arrival> arrivals;  // on their way, in order
  };

  void arrive(uint32_t flag, Arrival arrival) {
    auto& arrivals = flags_[flag].arrivals;
    auto later = [](const Arrival& a, const Arrival& b) { return a.at < b.at; };
    arrivals.insert(std::upper_bound(arrivals.begin(), arrivals.end(), arrival, later), arrival);
  }

  // Operands: source, size in granules, destination, flag.
  Status start_dma(const Instruction& one) {
    Value size = read(one.operands[1]);
    Value flag = read(one.operands[3]);
    if (!size || !flag) return failed("a DMA whose size or flag is not known to it");
    if (one.is_to_smem) {
      Value source = one.way == Way::on_chip ? read(one.operands[0]) : Value();
      copy_to_smem(source, *size, read(one.operands[2]));
    }
    double bytes = *size * kGranuleBytes;
    if (one.way == Way::on_chip) {
      double done = cycle_ + device_.dma_latency_seconds * device_.clock_hz;
      arrive(*flag, {done, *size});
      return {};
    }
    double start = std::max(cycle_, queue_free_);
    queue_free_ = start + bytes / device_.hbm_bytes_per_second * device_.clock_hz;
    double done = queue_free_ + device_.dma_latency_seconds * device_.clock_hz;
    last_completion_ = std::max(last_completion_, done);
    arrive(*flag, {done, *size});
    bool is_outward = one.way == Way::outward;
    (is_outward ? out_.store_bytes : out_.load_bytes) += bytes;
    ++(is_outward ? out_.stores : out_.loads);
    (is_outward ? stores_ : loads_)
        .add({is_outward ? Span::Kind::store : Span::Kind::load, start, done, bytes});
    return {};
  }

  Status wait(const Instruction& one) {
    Value address = read(one.operands[0]);
    Value wanted = read(one.operands[1]);
    if (!address || !wanted) return failed("a wait for a flag that is not known to it");
    Flag& flag = flags_[*address];
    double start = cycle_;
    while (flag.count < int64_t{*wanted}) {
      if (flag.arrivals.empty()) return failed("a wait that no DMA ends");
      cycle_ = std::max(cycle_, flag.arrivals.front().at);
      flag.count += flag.arrivals.front().granules;
      flag.arrivals.pop_front();
    }
    if (cycle_ > start) {
      out_.stall_cycles += cycle_ - start;
      stalls_.add({Span::Kind::stall, start, cycle_, 0});
    }
    return {};
  }

  Status set_flag(const Instruction& one, bool add) {
    Value address = read(one.operands[0]);
    Value amount = read(one.operands[1]);
    if (!address || !amount) return failed("a flag that is not known to it");
    int64_t signed_amount = static_cast<int32_t>(*amount);
    Flag& flag = flags_[*address];
    flag.count = add ? flag.count + signed_amount : 0;
    return {};
  }

  const Schedule& schedule_;
  const Device& device_;
  const Parameters& parameters_;
  bool is_lenient_;  // what it does not know does not happen
  std::vector<Value> slots_;
  std::vector<Value> registers_;
  std::vector<uint64_t> executed_;  // times, per bundle
  std::unordered_map<uint32_t, Value> smem_;
  std::unordered_map<uint32_t, Flag> flags_;
  double cycle_ = 0;
  double queue_free_ = 0;  // when the DMA queue can take the next transfer
  double last_completion_ = 0;
  double step_start_ = 0;
  Simulation out_;
  SpanLog steps_, loads_, stores_, stalls_;
};

}  // namespace

Result<Simulation> simulate(const Schedule& schedule, const Device& device,
                            const Parameters& parameters) {
  return Core(schedule, device, parameters, false).run();
}

Result<Simulation> simulate_top_level(const Schedule& schedule, const Device& device) {
  static const Parameters kNothingKnown;
  return Core(schedule, device, kNothingKnown, true).run();
}

}  // namespace evolve::ir
