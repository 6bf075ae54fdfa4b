#include "engine/ir/model/steady.h"

#include <algorithm>
#include <cmath>

namespace evolve::ir {

namespace {

// The maximum difference of equal times, in cycles. Times are sums of fractions, which are rounded.
constexpr double kSame = 1e-6;
// The fewest periods that are added up. Fewer are not worth the copies of the state.
constexpr uint64_t kFewestPasses = 8;
// The longest wait between tries, in visits of a head. Each try copies the state.
constexpr uint64_t kMostWait = 4096;

bool is_same(double a, double b) {
  return std::fabs(a - b) <= kSame;
}

// Returns by how much values have grown. Nullopt: a value has become known or unknown.
std::optional<std::vector<uint32_t>> grown(const std::vector<Value>& before,
                                           const std::vector<Value>& after) {
  std::vector<uint32_t> out(before.size(), 0);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].has_value() != after[i].has_value()) return std::nullopt;
    if (before[i]) out[i] = *after[i] - *before[i];
  }
  return out;
}

std::optional<Growths> grown(const CoreState& before, const CoreState& after) {
  auto slots = grown(before.slots, after.slots);
  auto registers = grown(before.registers, after.registers);
  if (!slots || !registers || before.smem.size() != after.smem.size()) return std::nullopt;
  Growths out{*std::move(slots), *std::move(registers), {}};
  for (const auto& [address, value] : after.smem) {
    auto old = before.smem.find(address);
    if (old == before.smem.end() || old->second.has_value() != value.has_value())
      return std::nullopt;
    if (value && *value != *old->second) out.smem.emplace(address, *value - *old->second);
  }
  return out;
}

// Returns the cycles until a time; 0 for any time that has passed.
double ahead(double at, const CoreState& state) {
  return std::max(0.0, at - state.cycle);
}

bool is_same_flag(const Flag& a, const CoreState& before, const Flag& b, const CoreState& after) {
  if (a.count != b.count || a.arrivals.size() != b.arrivals.size()) return false;
  return std::equal(a.arrivals.begin(), a.arrivals.end(), b.arrivals.begin(),
                    [&](const Arrival& x, const Arrival& y) {
                      return x.granules == y.granules && x.operand == y.operand &&
                             is_same(ahead(x.at, before), ahead(y.at, after));
                    });
}

// Whether DMAs and flags are the same in both states, relative to the cycle of each state.
bool is_same_timing(const CoreState& before, const CoreState& after) {
  if (!is_same(ahead(before.queue_free, before), ahead(after.queue_free, after))) return false;
  if (before.flags.size() != after.flags.size()) return false;
  return std::all_of(after.flags.begin(), after.flags.end(), [&](const auto& entry) {
    auto old = before.flags.find(entry.first);
    return old != before.flags.end() && is_same_flag(old->second, before, entry.second, after);
  });
}

template <class Number>
void add(Number& total, const Number& before, uint64_t times) {
  total += static_cast<Number>(times) * (total - before);
}

template <class Number>
void add(std::vector<Number>& totals, const std::vector<Number>& before, uint64_t times) {
  for (size_t i = 0; i < totals.size(); ++i) add(totals[i], before[i], times);
}

void add(std::vector<Value>& values, const std::vector<uint32_t>& growths, uint64_t times) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) *values[i] += static_cast<uint32_t>(times) * growths[i];
  }
}

// Adds the counts since `before`, `times` times.
void add_counts(Simulation& out, const Simulation& before, uint64_t times) {
  add(out.bundles, before.bundles, times);
  add(out.stall_cycles, before.stall_cycles, times);
  add(out.latency_cycles, before.latency_cycles, times);
  add(out.loads, before.loads, times);
  add(out.stores, before.stores, times);
  add(out.load_bytes, before.load_bytes, times);
  add(out.store_bytes, before.store_bytes, times);
  add(out.steps, before.steps, times);
  for (auto& [guard, unknown] : out.unknown_guards) {
    auto old = before.unknown_guards.find(guard);
    add(unknown.times, old == before.unknown_guards.end() ? 0 : old->second.times, times);
  }
  add(out.calls, before.calls, times);
  for (auto& [bundle, cycles] : out.stalls) {
    auto old = before.stalls.find(bundle);
    add(cycles, old == before.stalls.end() ? 0.0 : old->second, times);
  }
  for (auto& [operand, traffic] : out.traffic) {
    auto found = before.traffic.find(operand);
    const Traffic old = found == before.traffic.end() ? Traffic() : found->second;
    add(traffic.loads, old.loads, times);
    add(traffic.stores, old.stores, times);
    add(traffic.load_bytes, old.load_bytes, times);
    add(traffic.store_bytes, old.store_bytes, times);
    add(traffic.wait_cycles, old.wait_cycles, times);
  }
  out.spans_are_cut = true;
}

// Advances the state by `times` groups of passes. The last group began in the state `before`.
void go_on(CoreState& state, const CoreState& before, const Growths& grown, uint64_t times) {
  double cycles = static_cast<double>(times) * (state.cycle - before.cycle);
  add(state.slots, grown.slots, times);
  add(state.registers, grown.registers, times);
  for (const auto& [address, growth] : grown.smem) {
    if (auto& value = state.smem[address]) *value += static_cast<uint32_t>(times) * growth;
  }
  for (auto& [address, flag] : state.flags) {
    for (Arrival& arrival : flag.arrivals) arrival.at += cycles;
  }
  if (state.last_completion > before.last_completion) state.last_completion += cycles;
  state.cycle += cycles;
  state.out.added_up_cycles += cycles;
  state.queue_free += cycles;
  state.step_start += cycles;
  add(state.skipped, before.skipped, times);
  add(state.changes, before.changes, times);
  add_counts(state.out, before.out, times);
}

}  // namespace

// Returns the shortest period, in passes, that is not tried yet and with which the times repeat:
// each of the last passes took as long as the pass one period earlier. 0: no such period.
size_t SteadyState::Head::period() const {
  for (size_t period = least_period; period <= kMostPeriod; ++period) {
    bool is_it = true;
    for (size_t i = 0; i < period; ++i) is_it = is_it && is_same(cycles[i], cycles[i + period]);
    if (is_it) return period;
  }
  return 0;
}

void SteadyState::on_head(size_t head, CoreState& state) {
  Head& one = heads_[head];
  ++one.visits;
  std::copy_backward(one.cycles.begin(), one.cycles.end() - 1, one.cycles.end());
  one.cycles[0] = state.cycle - one.last_cycle;
  one.last_cycle = state.cycle;
  if (head_) {
    if (state.out.bundles > give_up_at_) {
      give_up();
    } else if (head == *head_ && --left_ == 0) {
      growth_ ? conclude(state) : compare(state);
      one.last_cycle = state.cycle;
    }
    return;
  }
  if (one.visits < one.next) return;
  if (size_t period = one.period(); period > 0) {
    begin(head, period, state);
  } else {
    one.least_period = 1;
  }
}

void SteadyState::begin(size_t head, size_t period, const CoreState& state) {
  head_ = head;
  period_ = left_ = period;
  first_ = state;
  // The wait has a limit, because a loop that has ended never returns to its head.
  constexpr uint64_t kMostCycles = 1'000'000;
  double cycles = 0;
  for (size_t i = 0; i < period; ++i) cycles += heads_[head].cycles.at(i);
  give_up_at_ = state.out.bundles + std::min(kMostCycles, static_cast<uint64_t>(4 * cycles) + 100);
}

void SteadyState::give_up() {
  Head& one = heads_[*head_];
  one.least_period = period_ % kMostPeriod + 1;
  one.wait = std::min(2 * one.wait, kMostWait);
  one.next = one.visits + one.wait;
  head_.reset();
  growth_.reset();
}

void SteadyState::compare(const CoreState& state) {
  auto values = grown(first_, state);
  if (!values || !is_same_timing(first_, state)) {
    give_up();
    return;
  }
  second_ = state;
  grown_ = *std::move(values);
  growth_.emplace(grown_);
  left_ = period_;
}

void SteadyState::conclude(CoreState& state) {
  auto values = grown(second_, state);
  bool goes_on = values && *values == grown_ && is_same_timing(second_, state) &&
                 is_same(state.cycle - second_.cycle, second_.cycle - first_.cycle);
  uint64_t passes = goes_on ? growth_->passes() : 0;
  uint64_t bundles = std::max<uint64_t>(1, state.out.bundles - second_.out.bundles);
  uint64_t room = most_bundles_ > state.out.bundles ? most_bundles_ - state.out.bundles : 0;
  passes = std::min(passes, room / bundles);
  if (passes < kFewestPasses) {
    give_up();
    return;
  }
  go_on(state, second_, grown_, passes);
  Head& one = heads_[*head_];
  one.wait = kFirstWait;
  one.least_period = period_;
  one.next = one.visits + one.wait;
  head_.reset();
  growth_.reset();
}

}  // namespace evolve::ir
