#include "engine/ir/model/simulator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "engine/ir/model/alu.h"
#include "engine/ir/model/core_state.h"
#include "engine/ir/model/hbm_layout.h"
#include "engine/ir/model/steady.h"
#include "engine/ir/readers/origin.h"

namespace evolve::ir {

namespace {

constexpr double kGranuleBytes = 32;
constexpr uint32_t kGranuleWords = 8;

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
       bool is_lenient, const SimulationOptions& options)
      : schedule_(schedule),
        device_(device),
        parameters_(parameters),
        is_lenient_(is_lenient),
        options_(options),
        hbm_(schedule),
        steady_(options.most_bundles),
        next_seen_(schedule.bundles.size() + 1) {
    state_.slots.resize(static_cast<size_t>(schedule.slots));
    state_.registers.resize(static_cast<size_t>(schedule.registers));
    assumed_.resize(state_.slots.size());
    for (const Check& check : schedule.checks)
      assumed_[static_cast<size_t>(check.slot)] = check.value ? 1 : 0;
    state_.skipped.resize(schedule.guards.size(), 0);
    state_.changes.resize(schedule.bundles.size() + 1, 0);
    size_t seen = schedule.bundles.size();
    next_seen_[seen] = seen;
    state_.out.calls.resize(schedule.calls.size());
    for (size_t i = seen; i-- > 0;) {
      if (schedule.bundles[i].count > 0) seen = i;
      next_seen_[i] = seen;
    }
  }

  // Runs the schedule: goes from one bundle that the scalar unit sees to the next, because the
  // bundles between only take cycles.
  Result<Simulation> run() {
    const size_t end = schedule_.bundles.size();
    size_t at = 0;
    size_t stop = end;  // bundles before this one run before the pending branch takes effect
    size_t target = end;
    ++state_.changes[0];
    while (true) {
      size_t next = std::min(next_seen_[at], stop);
      state_.cycle += static_cast<double>(next - at);
      state_.out.bundles += next - at;
      at = next;
      if (at == stop) {
        // The branch takes effect, or the program ends.
        --state_.changes[at];
        if (target >= end) break;
        bool is_back = target < at;
        at = target;
        ++state_.changes[at];
        stop = target = end;
        if (is_back && options_.adds_up_loops) steady_.on_head(at, state_);
        continue;
      }
      ++state_.out.bundles;
      if (++walked_ > options_.most_walked || state_.out.bundles > options_.most_bundles)
        return stuck(at, "the kernel runs too long");
      std::optional<uint32_t> branch;
      auto status = execute(at, branch);
      if (!status) return stuck(at, status.error().message);
      state_.cycle += 1;
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
    ++state_.out.steps;
    steps_.add({Span::Kind::step, state_.step_start, state_.cycle, 0});
    state_.step_start = state_.cycle;
  }

  Simulation finish() {
    // The kernel ends when its last bytes have arrived.
    state_.out.cycles = std::max(state_.cycle, state_.last_completion);
    state_.out.drain_cycles = state_.out.cycles - state_.cycle;
    state_.out.executed.resize(schedule_.bundles.size());
    state_.out.opcodes.resize(schedule_.opcodes.size());
    uint64_t times = 0;
    for (size_t i = 0; i < schedule_.bundles.size(); ++i) {
      times += static_cast<uint64_t>(state_.changes[i]);
      state_.out.executed[i] = times;
      const Bundle& bundle = schedule_.bundles[i];
      for (uint32_t issue = 0; issue < bundle.issues; ++issue)
        state_.out.opcodes[schedule_.issues[bundle.first_issue + issue]] += times;
      if (bundle.issues == 0) state_.out.empty_bundles += times;
    }
    for (size_t i = 0; i < schedule_.guards.size(); ++i) {
      for (uint16_t opcode : schedule_.guards[i].opcodes)
        state_.out.opcodes[opcode] -= state_.skipped[i];
    }
    for (size_t i = 0; i < schedule_.opcodes.size(); ++i) {
      const Opcode& opcode = schedule_.opcodes[i];
      state_.out.issued[static_cast<size_t>(opcode.unit)] += state_.out.opcodes[i];
      if (opcode.is_matmul) state_.out.matmuls += state_.out.opcodes[i];
      if (opcode.is_spill)
        (opcode.unit == Unit::store ? state_.out.spills : state_.out.fills) +=
            state_.out.opcodes[i];
    }
    for (const SpanLog* log : {&steps_, &loads_, &stores_, &stalls_}) log->append_to(state_.out);
    return std::move(state_.out);
  }

  Status execute(size_t at, std::optional<uint32_t>& branch) {
    const Bundle& bundle = schedule_.bundles[at];
    for (uint32_t i = bundle.first; i < bundle.first + bundle.count; ++i) {
      const Instruction& one = schedule_.instructions[i];
      auto holds = predicate(one);
      if (Growth* growth = steady_.growth()) follow(one, holds, *growth);
      if (one.op == Op::guard) {
        if (!holds) note_unknown(one);
        if (holds && !*holds) ++state_.skipped[one.target];
        continue;
      }
      if (!holds) {
        if (one.result == kNone && !is_lenient_) return not_known(one, at);
        if (one.op == Op::branch && one.target <= at) state_.out.unknown_loop = bundle.line;
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
        case Op::call: ++state_.out.calls[one.target]; break;
        case Op::dma: status = start_dma(one); break;
        case Op::wait: status = wait(one, static_cast<uint32_t>(at)); break;
        case Op::flag_set: status = set_flag(one, false); break;
        case Op::flag_add: status = set_flag(one, true); break;
        case Op::flag_read: read_flag(one); break;
        case Op::store_smem: store(one); break;
        default: write(one, assumed_or(i, result_of(one))); break;
      }
      if (!status && !is_lenient_) return status;
    }
    return {};
  }

  void note_unknown(const Instruction& guard) {
    UnknownGuard& unknown = state_.out.unknown_guards[guard.target];
    if (++unknown.times == 1) unknown.origin = origin_words(guard.predicate);
  }

  // Returns the value if it is known. Otherwise returns the assumption about the instruction that
  // makes the value.
  [[nodiscard]] Value assumed_or(uint32_t instruction, Value value) const {
    if (value || options_.on_data == nullptr) return value;
    const auto& holds = options_.on_data->holds;
    const auto found = holds.find(instruction);
    return found == holds.end() ? value : Value(found->second ? 1 : 0);
  }

  // Returns the error for an instruction whose predicate is not known. Also notes a predicate that
  // may be assumed: it depends on data, and it does not decide a loop's length.
  Error not_known(const Instruction& one, size_t at) {
    const auto is_known = [this](int32_t slot) {
      return state_.slots[static_cast<size_t>(slot)].has_value();
    };
    const auto origin = origin_of(schedule_, one.predicate, is_known);
    const std::string words = origin_words(origin);
    const bool is_loop = one.op == Op::branch && one.target <= at;
    if (options_.on_data != nullptr && origin && is_data(*origin) && !is_loop) {
      if (const auto maker = maker_of_predicate(schedule_, one.predicate, is_known))
        options_.on_data->asked = {
            *maker, fmt::format("line {}, on {}", schedule_.bundles[at].line, words)};
    }
    return failed("an unknown predicate: it depends on " + words);
  }

  // Whether the value is computed from the arrays' contents, which no input file can give.
  [[nodiscard]] bool is_data(const ValueOrigin& origin) const {
    const Instruction& one = *origin.instruction;
    if (one.op == Op::of_vectors) return true;
    if (one.op != Op::load_smem) return false;
    const Value address = read(one.operands[0]);
    if (!address || not_given_.contains(*address)) return false;
    return state_.smem.contains(*address);  // and it was written
  }

  [[nodiscard]] std::string origin_words(int32_t slot) const {
    return origin_words(origin_of(schedule_, slot, [this](int32_t each) {
      return state_.slots[static_cast<size_t>(each)].has_value();
    }));
  }
  // Describes, in words for people, the origin of a value that is not known.
  [[nodiscard]] std::string origin_words(const std::optional<ValueOrigin>& origin) const {
    if (!origin) return "a value of unknown origin";
    const Instruction& one = *origin->instruction;
    std::optional<uint32_t> number;
    if (one.op == Op::parameter) number = one.operands[0].constant;
    if (const Value address = read(one.operands[0]); one.op == Op::load_smem && address) {
      if (auto from = not_given_.find(*address); from != not_given_.end()) number = from->second;
    }
    for (const KernelOperand& operand : schedule_.operands) {
      if (number != operand.number) continue;
      return fmt::format("operand {} ({}[{}]), whose values are not known", operand.number,
                         operand.dtype, fmt::join(operand.shape, ","));
    }
    if (one.op == Op::unknown)
      return fmt::format("the unknown result of '{}' in line {}",
                         schedule_.opcodes[one.target].name, origin->line);
    const char* what = one.op == Op::load_smem    ? "a word of the scalar memory"
                       : one.op == Op::of_vectors ? "a value of the vector units"
                                                  : "a value";
    return fmt::format("{} that line {} reads", what, origin->line);
  }

  void follow(const Instruction& one, std::optional<bool> holds, Growth& growth) const {
    growth.see(one, {holds, {read(one.operands[0]), read(one.operands[1]), read(one.operands[2])}});
  }

  // Whether the instruction runs. Nullopt: not known.
  [[nodiscard]] std::optional<bool> predicate(const Instruction& one) const {
    if (one.predicate == kNone) return true;
    Value value = state_.slots[static_cast<size_t>(one.predicate)];
    // A check is assumed to hold. But a branch may go around the check, and then the check says
    // nothing about the predicate. So branches, and the guards of all instructions but checks, need
    // the real value.
    const bool may_assume =
        one.op != Op::branch && (one.op != Op::guard || schedule_.guards[one.target].is_check);
    if (!value && may_assume) value = assumed_[static_cast<size_t>(one.predicate)];
    if (!value) return std::nullopt;
    return (*value != 0) != one.negated;
  }

  [[nodiscard]] Value read(const Operand& operand) const {
    if (!operand.is_known) return std::nullopt;
    uint32_t sum = operand.constant;
    if (operand.slot != kNone) {
      Value value = state_.slots[static_cast<size_t>(operand.slot)];
      if (!value) return std::nullopt;
      sum += *value;
    }
    if (operand.index != kNone) {
      Value value = state_.slots[static_cast<size_t>(operand.index)];
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum;
  }

  void write(const Instruction& one, Value value) {
    if (one.result == kNone) return;
    state_.slots[static_cast<size_t>(one.result)] = value;
    if (one.reg != kNone) state_.registers[static_cast<size_t>(one.reg)] = value;
  }

  [[nodiscard]] Value result_of(const Instruction& one) const {
    switch (one.op) {
      case Op::phi:
      case Op::rename:
        return one.reg == kNone ? Value() : state_.registers[static_cast<size_t>(one.reg)];
      case Op::unknown:
      case Op::opaque:
      case Op::of_vectors: return std::nullopt;
      case Op::select: return select(one, read(one.operands[0]));
      default: break;
    }
    Value a = read(one.operands[0]);
    switch (one.op) {
      case Op::core: return 0;  // the first core; the others do the same with their own share
      case Op::operand: return a ? hbm_.address_of(*a).value_or(parameter_address(*a)) : Value();
      case Op::parameter: return a ? word_of(*a, 0) : Value();
      case Op::load_smem: return a ? load(*a) : Value();
      default: return compute(one.op, a, read(one.operands[1]));
    }
  }

  [[nodiscard]] Value select(const Instruction& one, Value which) const {
    if (which) return read(one.operands[*which != 0 ? 1 : 2]);
    Value a = read(one.operands[1]);
    return a == read(one.operands[2]) ? a : std::nullopt;
  }

  [[nodiscard]] Value load(uint32_t address) const {
    auto found = state_.smem.find(address);
    return found == state_.smem.end() ? Value() : found->second;
  }

  void store(const Instruction& one) {
    if (auto address = read(one.operands[0])) {
      state_.smem[*address] = read(one.operands[1]);
    } else {
      state_.smem.clear();  // any word may have changed, because the address is not known
    }
  }

  // Returns a word of an operand.
  [[nodiscard]] Value word_of(uint32_t number, size_t word) const {
    auto found = parameters_.find(number);
    if (found == parameters_.end() || word >= found->second.size()) return std::nullopt;
    return found->second[word];
  }

  // Returns the place in an operand, in VMEM or HBM, that a DMA reads. The DMA's source address
  // counts granules.
  [[nodiscard]] std::optional<HbmLayout::Place> source_of(const Instruction& dma) const {
    const Value address = read(dma.operands[0]);
    if (!address) return std::nullopt;
    if (dma.way != Way::on_chip) return hbm_.at(*address);
    const auto [operand, granule] = parameter_at(*address);
    return HbmLayout::Place{operand, granule};
  }

  // Copies granules of an operand into the scalar memory, whose addresses count words. Words from
  // elsewhere are not known.
  void copy_to_smem(const std::optional<HbmLayout::Place>& source, uint32_t granules,
                    Value destination) {
    if (!destination || granules > kMostSmemWords / kGranuleWords) {
      state_.smem.clear();
      return;
    }
    const uint32_t number = source ? source->operand : kNoOperand;
    const size_t first = source ? size_t{source->granule} * kGranuleWords : 0;
    for (uint32_t word = 0; word < granules * kGranuleWords; ++word) {
      const Value value = word_of(number, first + word);
      state_.smem[*destination + word] = value;
      if (!value) not_given_[*destination + word] = number;
    }
  }

  // Returns the operand at an address in HBM; kNoOperand: no operand is known to be there.
  [[nodiscard]] uint32_t owner_of(const Operand& address) const {
    const Value value = read(address);
    const auto place = value ? hbm_.at(*value) : std::nullopt;
    return place ? place->operand : kNoOperand;
  }

  void arrive(uint32_t flag, Arrival arrival) {
    auto& arrivals = state_.flags[flag].arrivals;
    auto later = [](const Arrival& a, const Arrival& b) { return a.at < b.at; };
    arrivals.insert(std::upper_bound(arrivals.begin(), arrivals.end(), arrival, later), arrival);
  }

  // Starts a DMA. Operands: source, size in granules, destination, flag.
  Status start_dma(const Instruction& one) {
    Value size = read(one.operands[1]);
    Value flag = read(one.operands[3]);
    if (!size || !flag) return failed("a DMA with an unknown size or flag");
    if (state_.flags.size() > kMostFlags || state_.flags[*flag].arrivals.size() > kMostArrivals ||
        state_.smem.size() > kMostSmemWords)
      return failed("more DMAs, flags or words in SMEM than there can be");
    if (one.is_to_smem) copy_to_smem(source_of(one), *size, read(one.operands[2]));
    double bytes = *size * kGranuleBytes;
    double crossings = one.way == Way::within_hbm ? 2 : 1;
    if (one.way == Way::on_chip) {
      double done = state_.cycle + device_.dma_latency_seconds * device_.clock_hz;
      arrive(*flag, {done, *size, kNoOperand});
      return {};
    }
    double start = std::max(state_.cycle, state_.queue_free);
    state_.queue_free = start + crossings * bytes / device_.hbm_bytes_per_second * device_.clock_hz;
    double done = state_.queue_free + device_.dma_latency_seconds * device_.clock_hz;
    state_.last_completion = std::max(state_.last_completion, done);
    const uint32_t source = owner_of(one.operands[0]), destination = owner_of(one.operands[2]);
    arrive(*flag, {done, *size, one.way == Way::outward ? destination : source});
    if (one.way != Way::outward) {
      Traffic& traffic = state_.out.traffic[source];
      traffic.load_bytes += bytes;
      ++traffic.loads;
      state_.out.load_bytes += bytes;
      ++state_.out.loads;
      loads_.add({Span::Kind::load, start, done, bytes});
    }
    if (one.way != Way::inward) {
      Traffic& traffic = state_.out.traffic[destination];
      traffic.store_bytes += bytes;
      ++traffic.stores;
      state_.out.store_bytes += bytes;
      ++state_.out.stores;
      stores_.add({Span::Kind::store, start, done, bytes});
    }
    return {};
  }

  Status wait(const Instruction& one, uint32_t at) {
    Value address = read(one.operands[0]);
    Value wanted = read(one.operands[1]);
    if (!address || !wanted) return failed("a wait for an unknown flag");
    Flag& flag = state_.flags[*address];
    double start = state_.cycle;
    uint32_t last = kNoOperand;
    while (flag.count < int64_t{static_cast<int32_t>(*wanted)}) {
      if (flag.arrivals.empty()) return failed("a wait that no DMA ends");
      state_.cycle = std::max(state_.cycle, flag.arrivals.front().at);
      last = flag.arrivals.front().operand;
      flag.take_first();
    }
    if (state_.cycle > start) {
      state_.out.stall_cycles += state_.cycle - start;
      state_.out.latency_cycles +=
          std::min(state_.cycle - start, device_.dma_latency_seconds * device_.clock_hz);
      state_.out.stalls[at] += state_.cycle - start;
      state_.out.traffic[last].wait_cycles += state_.cycle - start;
      stalls_.add({Span::Kind::stall, start, state_.cycle, 0});
    }
    return {};
  }

  void read_flag(const Instruction& one) {
    Value address = read(one.operands[0]);
    if (!address) {
      write(one, std::nullopt);
      return;
    }
    Flag& flag = state_.flags[*address];
    while (!flag.arrivals.empty() && flag.arrivals.front().at <= state_.cycle) flag.take_first();
    write(one, static_cast<uint32_t>(flag.count));
  }

  Status set_flag(const Instruction& one, bool add) {
    Value address = read(one.operands[0]);
    Value amount = read(one.operands[1]);
    if (!address || !amount) return failed("a signal with an unknown flag or amount");
    int64_t signed_amount = static_cast<int32_t>(*amount);
    Flag& flag = state_.flags[*address];
    flag.count = add ? flag.count + signed_amount : 0;
    return {};
  }

  const Schedule& schedule_;
  const Device& device_;
  const Parameters& parameters_;
  bool is_lenient_;             // skips instructions that the model cannot follow
  std::vector<Value> assumed_;  // of predicates that are checked but not known: the checks hold
  SimulationOptions options_;
  HbmLayout hbm_;
  SteadyState steady_;
  uint64_t walked_ = 0;  // bundles
  // By word of SMEM: the operand that the word was copied from. The operand's values are not given.
  std::unordered_map<uint32_t, uint32_t> not_given_;
  std::vector<size_t> next_seen_;  // by bundle: the first from it on that the scalar unit sees
  CoreState state_;
  SpanLog steps_, loads_, stores_, stalls_;
};

}  // namespace

Result<Simulation> simulate(const Schedule& schedule, const Device& device,
                            const Parameters& parameters, const SimulationOptions& options) {
  return Core(schedule, device, parameters, false, options).run();
}

Result<Simulation> simulate_top_level(const Schedule& schedule, const Device& device) {
  static const Parameters kNothingKnown;
  return Core(schedule, device, kNothingKnown, true, {}).run();
}

}  // namespace evolve::ir
