// What changes while the simulator runs a schedule: a copy of it is a point to compare with.
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
  uint32_t operand = kNoOperand;  // whose they are
};

struct Flag {
  int64_t count = 0;
  std::deque<Arrival> arrivals;  // on their way, in order
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
  double queue_free = 0;       // when the DMA queue can take the next transfer
  double last_completion = 0;  // of a DMA
  double step_start = 0;
  std::vector<uint64_t> skipped;  // times, by guard
  std::vector<int64_t> changes;   // by bundle: how much oftener it runs than the one before
  Simulation out;                 // what is counted
};

}  // namespace evolve::ir
