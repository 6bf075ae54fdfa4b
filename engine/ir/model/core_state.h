// The state that changes while the simulator runs a schedule. A copy of the state serves for later
// comparison.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/ir/model/alu.h"
#include "engine/ir/model/simulator.h"

namespace evolve::ir {

struct Arrival {
  double at = 0;  // cycle
  int64_t granules = 0;
  uint32_t operand = kNoOperand;  // the operand that they belong to
};

struct Flag {
  int64_t count = 0;
  std::deque<Arrival> arrivals;  // under way, in the order of arrival
  void take_first() {
    count += arrivals.front().granules;
    arrivals.pop_front();
  }
};

struct CoreState {
  std::vector<Value> slots;
  std::vector<Value> registers;
  std::unordered_map<uint32_t, Value> smem;
  std::unordered_map<uint32_t, Flag> flags;
  double cycle = 0;
  double queue_free = 0;       // cycle at which the DMA queue can take the next transfer
  double last_completion = 0;  // cycle at which the last DMA is complete
  double step_start = 0;
  std::vector<uint64_t> skipped;  // times, by guard
  std::vector<int64_t> changes;   // by bundle: how many times more it runs than the bundle before
  Simulation out;                 // counts so far
};

}  // namespace evolve::ir
