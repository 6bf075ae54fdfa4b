// The recognition of loops in steady state, whose passes are added up instead of walked.
//
// The test advances whenever a branch back to the loop's head takes effect. A period is a number of
// passes, at most twelve, whose times repeat. The test compares the last period with the period
// before. Periods of several passes are needed if, for example, two buffers take turns. If the
// times then repeat every three passes, the values repeat every six. Every value must have grown
// evenly, and every DMA must be equally far on its way. The test then follows a third period
// (growth.h) and learns for how many more periods the loop must go on in the same way. All these
// periods are added up at once. The result equals the result of walking, except for the rounding of
// times.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "engine/ir/model/core_state.h"
#include "engine/ir/model/growth.h"

namespace evolve::ir {

class SteadyState {
 public:
  // `most_bundles` limits the bundles that are executed, whether walked or added up.
  explicit SteadyState(uint64_t most_bundles) : most_bundles_(most_bundles) {}

  // Notes that a branch back to the bundle `head` takes effect. May add passes to the state.
  void on_head(size_t head, CoreState& state);

  // Returns the follower of the present pass, which must see each instruction. Null: there is none.
  [[nodiscard]] Growth* growth() { return growth_ ? &*growth_ : nullptr; }

 private:
  static constexpr size_t kMostPeriod = 12;
  static constexpr uint64_t kFirstWait = 64;
  struct Head {
    uint64_t visits = 0;
    uint64_t wait = kFirstWait;  // visits until the next try
    uint64_t next = kFirstWait + 1;
    size_t least_period = 1;  // the next to try; values may repeat later than times
    double last_cycle = 0;
    std::array<double, 2 * kMostPeriod> cycles{};  // of the last passes, latest first
    [[nodiscard]] size_t period() const;
  };

  void begin(size_t head, size_t period, const CoreState& state);
  void give_up();
  void compare(const CoreState& state);
  void conclude(CoreState& state);

  uint64_t most_bundles_;
  std::unordered_map<size_t, Head> heads_;
  // The head of the loop under test; nullopt: none. `first_` is the state at the start of the test.
  std::optional<size_t> head_;
  size_t period_ = 0;
  size_t left_ = 0;          // visits of the head until the period is over
  uint64_t give_up_at_ = 0;  // bundles executed
  CoreState first_, second_;
  Growths grown_;
  std::optional<Growth> growth_;
};

}  // namespace evolve::ir
