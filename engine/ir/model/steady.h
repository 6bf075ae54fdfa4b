// Recognises loops in steady state and adds up their passes instead of walking them.
//
// A loop is looked at where a branch back to its head takes effect. When the last passes took as
// many cycles as those before, two passes are compared, or groups of up to twelve: two buffers take
// turns, and times with three passes together make six. Every value must have grown evenly, every
// DMA must be as far on its way. A third group is followed (growth.h), which says for how many more
// this must go on; those are added up at once. The result is that of walking, but for the rounding
// of times.
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
  // No more than `most_bundles` are ever executed.
  explicit SteadyState(uint64_t most_bundles) : most_bundles_(most_bundles) {}

  // Called where a branch back to the bundle `head` takes effect; may add passes to the state.
  void on_head(size_t head, CoreState& state);

  // To be told of each instruction while a pass is followed; nullptr while none is.
  [[nodiscard]] Growth* growth() { return growth_ ? &*growth_ : nullptr; }

 private:
  static constexpr size_t kMostPeriod = 12;
  static constexpr uint64_t kFirstWait = 64;
  struct Head {
    uint64_t visits = 0;
    uint64_t wait = kFirstWait;  // visits until the next try
    uint64_t next = kFirstWait + 1;
    size_t least_period = 1;  // to be tried next: values may take turns where times do not
    double last_cycle = 0;
    std::array<double, 2 * kMostPeriod> cycles{};  // of the last passes, the latest first
    [[nodiscard]] size_t period() const;
  };

  void begin(size_t head, size_t period, const CoreState& state);
  void give_up();
  void compare(const CoreState& state);
  void conclude(CoreState& state);

  uint64_t most_bundles_;
  std::unordered_map<size_t, Head> heads_;
  // The loop that is looked at, from `first_` on.
  std::optional<size_t> head_;
  size_t period_ = 0;
  size_t left_ = 0;          // visits of the head until the period is over
  uint64_t give_up_at_ = 0;  // bundles executed
  CoreState first_, second_;
  Growths grown_;
  std::optional<Growth> growth_;
};

}  // namespace evolve::ir
