#include "engine/ir/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
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
       bool is_lenient, uint64_t most_bundles)
      : schedule_(schedule),
        device_(device),
        parameters_(parameters),
        is_lenient_(is_lenient),
        most_bundles_(most_bundles),
        slots_(static_cast<size_t>(schedule.slots)),
        registers_(static_cast<size_t>(schedule.registers)),
        skipped_(schedule.guards.size(), 0),
        next_seen_(schedule.bundles.size() + 1),
        changes_(schedule.bundles.size() + 1, 0) {
    size_t seen = schedule.bundles.size();
    next_seen_[seen] = seen;
    out_.calls.resize(schedule.calls.size());
    for (size_t i = seen; i-- > 0;) {
      if (schedule.bundles[i].count > 0) seen = i;
      next_seen_[i] = seen;
    }
  }

  // Goes from one bundle that the scalar unit sees to the next; those between are cycles alone.
  Result<Simulation> run() {
    const size_t end = schedule_.bundles.size();
    size_t at = 0;
    size_t stop = end;  // bundles before this one run before the branch under way takes effect
    size_t target = end;
    ++changes_[0];
    while (true) {
      size_t next = std::min(next_seen_[at], stop);
      cycle_ += static_cast<double>(next - at);
      out_.bundles += next - at;
      at = next;
      if (at == stop) {
        // The branch takes effect, or the program ends.
        --changes_[at];
        if (target >= end) break;
        at = target;
        ++changes_[at];
        stop = target = end;
        continue;
      }
      if (++out_.bundles > most_bundles_) return stuck(at, "it runs too long");
      std::optional<uint32_t> branch;
      auto status = execute(at, branch);
      if (!status) return stuck(at, status.error().message);
      cycle_ += 1;
      if (branch) {
        if (*branch <= at) end_step();
        stop = at + 1 + static_cast<size_t>(device_.branch_delay_bundles);
        target = stop <= end ? *branch : end;
        stop = std::min(stop, end);
      }
      ++at;
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
    out_.drain_cycles = out_.cycles - cycle_;
    out_.executed.resize(schedule_.bundles.size());
    out_.opcodes.resize(schedule_.opcodes.size());
    uint64_t times = 0;
    for (size_t i = 0; i < schedule_.bundles.size(); ++i) {
      times += static_cast<uint64_t>(changes_[i]);
      out_.executed[i] = times;
      const Bundle& bundle = schedule_.bundles[i];
      for (uint32_t issue = 0; issue < bundle.issues; ++issue)
        out_.opcodes[schedule_.issues[bundle.first_issue + issue]] += times;
      if (bundle.issues == 0) out_.empty_bundles += times;
    }
    for (size_t i = 0; i < schedule_.guards.size(); ++i) {
      for (uint16_t opcode : schedule_.guards[i]) out_.opcodes[opcode] -= skipped_[i];
    }
    for (size_t i = 0; i < schedule_.opcodes.size(); ++i) {
      const Opcode& opcode = schedule_.opcodes[i];
      out_.issued[static_cast<size_t>(opcode.unit)] += out_.opcodes[i];
      if (opcode.is_matmul) out_.matmuls += out_.opcodes[i];
      if (opcode.is_spill)
        (opcode.unit == Unit::store ? out_.spills : out_.fills) += out_.opcodes[i];
    }
    for (const SpanLog* log : {&steps_, &loads_, &stores_, &stalls_}) log->append_to(out_);
    return std::move(out_);
  }

  Status execute(size_t at, std::optional<uint32_t>& branch) {
    const Bundle& bundle = schedule_.bundles[at];
    for (uint32_t i = bundle.first; i < bundle.first + bundle.count; ++i) {
      const Instruction& one = schedule_.instructions[i];
      auto holds = predicate(one);
      if (one.op == Op::guard) {
        if (!holds) ++out_.unknown_guards;
        if (holds && !*holds) ++skipped_[one.target];
        continue;
      }
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
        case Op::call: ++out_.calls[one.target]; break;
        case Op::dma: status = start_dma(one); break;
        case Op::wait: status = wait(one, static_cast<uint32_t>(at)); break;
        case Op::flag_set: status = set_flag(one, false); break;
        case Op::flag_add: status = set_flag(one, true); break;
        case Op::flag_read: read_flag(one); break;
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
    if (operand.slot != kNone) {
      Value value = slots_[static_cast<size_t>(operand.slot)];
      if (!value) return std::nullopt;
      sum += *value;
    }
    if (operand.index != kNone) {
      Value value = slots_[static_cast<size_t>(operand.index)];
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
    switch (one.op) {
      case Op::phi: return one.reg == kNone ? Value() : registers_[static_cast<size_t>(one.reg)];
      case Op::unknown:
      case Op::opaque: return std::nullopt;
      case Op::pred_or:
      case Op::pred_and:
      case Op::pred_nand: return decided(one.op, read(one.operands[0]), read(one.operands[1]));
      case Op::select: return select(one, read(one.operands[0]));
      default: break;
    }
    Value a = read(one.operands[0]);
    if (!a) return std::nullopt;
    switch (one.op) {
      case Op::copy: return a;
      case Op::operand: return parameter_address(*a);
      case Op::parameter: return word_of(*a, 0);
      case Op::load_smem: return load(*a);
      case Op::pred_not: return *a == 0 ? 1 : 0;
      case Op::floor_f:
      case Op::ceil_f:
      case Op::to_float:
      case Op::to_int: return unary_float(one.op, *a);
      default: break;
    }
    Value b = read(one.operands[1]);
    if (!b) return std::nullopt;
    return is_binary_float(one.op) ? binary_float(one.op, *a, *b) : binary(one.op, *a, *b);
  }

  // One operand may decide alone, whatever the other is.
  static Value decided(Op op, Value a, Value b) {
    uint32_t decisive = op == Op::pred_or ? 1 : 0;
    bool is_decided = (a && (*a != 0) == (decisive != 0)) || (b && (*b != 0) == (decisive != 0));
    if (!is_decided && (!a || !b)) return std::nullopt;
    uint32_t result = is_decided ? decisive : 1 - decisive;
    return op == Op::pred_nand ? 1 - result : result;
  }

  [[nodiscard]] Value select(const Instruction& one, Value which) const {
    if (which) return read(one.operands[*which != 0 ? 1 : 2]);
    Value a = read(one.operands[1]);
    return a == read(one.operands[2]) ? a : std::nullopt;
  }

  static Value binary(Op op, uint32_t a, uint32_t b) {
    auto sa = static_cast<int32_t>(a);
    auto sb = static_cast<int32_t>(b);
    switch (op) {
      case Op::add: return a + b;
      case Op::sub: return a - b;
      case Op::mul: return a * b;
      case Op::mul_high: return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
      case Op::divide: return b != 0 ? Value(a / b) : std::nullopt;
      case Op::remainder: return b != 0 ? Value(a % b) : std::nullopt;
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
      case Op::pred_xor: return (a != 0) != (b != 0) ? 1 : 0;
      default: return std::nullopt;
    }
  }

  static Value unary_float(Op op, uint32_t a) {
    auto value = std::bit_cast<float>(a);
    if (op == Op::floor_f) return std::bit_cast<uint32_t>(std::floor(value));
    if (op == Op::ceil_f) return std::bit_cast<uint32_t>(std::ceil(value));
    if (op == Op::to_float)
      return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(a)));
    // How it rounds is not known, nor what it makes of what is too large.
    constexpr float kTooLarge = 2147483648.0F;
    if (std::trunc(value) != value || std::fabs(value) >= kTooLarge) return std::nullopt;
    return static_cast<uint32_t>(static_cast<int32_t>(value));
  }

  static bool is_binary_float(Op op) { return op >= Op::add_f && op <= Op::ge_f; }

  static Value binary_float(Op op, uint32_t a, uint32_t b) {
    auto x = std::bit_cast<float>(a);
    auto y = std::bit_cast<float>(b);
    auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    switch (op) {
      case Op::add_f: return bits(x + y);
      case Op::sub_f: return bits(x - y);
      case Op::mul_f: return bits(x * y);
      case Op::eq_f: return x == y ? 1 : 0;
      case Op::ne_f: return x != y ? 1 : 0;
      case Op::lt_f: return x < y ? 1 : 0;
      case Op::le_f: return x <= y ? 1 : 0;
      case Op::gt_f: return x > y ? 1 : 0;
      case Op::ge_f: return x >= y ? 1 : 0;
      case Op::min_f:
      case Op::max_f:
        // What it makes of NaN is not known.
        if (std::isnan(x) || std::isnan(y)) return std::nullopt;
        return bits(op == Op::min_f ? std::min(x, y) : std::max(x, y));
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
    if (!destination || granules > kMostSmemWords / kGranuleWords) {
      smem_.clear();
      return;
    }
    auto [number, first_granule] =
        source ? parameter_at(*source) : std::pair<uint32_t, uint32_t>(UINT32_MAX, 0);
    uint32_t first = first_granule * kGranuleWords;
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
    void take_first() {
      count += arrivals.front().granules;
      arrivals.pop_front();
    }
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
    if (flags_.size() > kMostFlags || flags_[*flag].arrivals.size() > kMostArrivals ||
        smem_.size() > kMostSmemWords)
      return failed("more DMAs, flags or words in SMEM than there can be");
    if (one.is_to_smem) {
      Value source = one.way == Way::on_chip ? read(one.operands[0]) : Value();
      copy_to_smem(source, *size, read(one.operands[2]));
    }
    double bytes = *size * kGranuleBytes;
    double crossings = one.way == Way::within_hbm ? 2 : 1;
    if (one.way == Way::on_chip) {
      double done = cycle_ + device_.dma_latency_seconds * device_.clock_hz;
      arrive(*flag, {done, *size});
      return {};
    }
    double start = std::max(cycle_, queue_free_);
    queue_free_ = start + crossings * bytes / device_.hbm_bytes_per_second * device_.clock_hz;
    double done = queue_free_ + device_.dma_latency_seconds * device_.clock_hz;
    last_completion_ = std::max(last_completion_, done);
    arrive(*flag, {done, *size});
    if (one.way != Way::outward) {
      out_.load_bytes += bytes;
      ++out_.loads;
      loads_.add({Span::Kind::load, start, done, bytes});
    }
    if (one.way != Way::inward) {
      out_.store_bytes += bytes;
      ++out_.stores;
      stores_.add({Span::Kind::store, start, done, bytes});
    }
    return {};
  }

  Status wait(const Instruction& one, uint32_t at) {
    Value address = read(one.operands[0]);
    Value wanted = read(one.operands[1]);
    if (!address || !wanted) return failed("a wait for a flag that is not known to it");
    Flag& flag = flags_[*address];
    double start = cycle_;
    while (flag.count < int64_t{static_cast<int32_t>(*wanted)}) {
      if (flag.arrivals.empty()) return failed("a wait that no DMA ends");
      cycle_ = std::max(cycle_, flag.arrivals.front().at);
      flag.take_first();
    }
    if (cycle_ > start) {
      out_.stall_cycles += cycle_ - start;
      out_.latency_cycles +=
          std::min(cycle_ - start, device_.dma_latency_seconds * device_.clock_hz);
      out_.stalls[at] += cycle_ - start;
      stalls_.add({Span::Kind::stall, start, cycle_, 0});
    }
    return {};
  }

  void read_flag(const Instruction& one) {
    Value address = read(one.operands[0]);
    if (!address) {
      write(one, std::nullopt);
      return;
    }
    Flag& flag = flags_[*address];
    while (!flag.arrivals.empty() && flag.arrivals.front().at <= cycle_) flag.take_first();
    write(one, static_cast<uint32_t>(flag.count));
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
  bool is_lenient_;        // what it does not know does not happen
  uint64_t most_bundles_;  // that are executed
  std::vector<Value> slots_;
  std::vector<Value> registers_;
  std::vector<uint64_t> skipped_;  // times, by guard
  std::vector<size_t> next_seen_;  // by bundle: the first from there that the scalar unit sees
  std::vector<int64_t> changes_;   // by bundle: how much oftener it runs than the one before
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
                            const Parameters& parameters, uint64_t most_bundles) {
  return Core(schedule, device, parameters, false, most_bundles).run();
}

Result<Simulation> simulate_top_level(const Schedule& schedule, const Device& device) {
  static const Parameters kNothingKnown;
  return Core(schedule, device, kNothingKnown, true, kMostBundlesExecuted).run();
}

}  // namespace evolve::ir
