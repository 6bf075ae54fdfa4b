// Where a kernel's time goes: every cycle to one cause, so that the causes add up to the whole.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/ir/model/device.h"
#include "engine/ir/model/simulator.h"
#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

enum class Cause : uint8_t {
  mxu,            // a matrix unit is busy
  vector,         // the matrix units are idle, other vector units have work
  spill,          // nothing but vector registers that are put into memory or taken back
  scalar,         // nothing but the scalar unit and the start of DMAs
  latency,        // an empty bundle: a result is awaited
  dma_bandwidth,  // a wait for a DMA, while bytes of it or before it pass
  dma_latency,    // a wait for a DMA whose bytes have passed
  drain,          // the last DMAs, after the last bundle
};
constexpr size_t kCauses = 8;
const char* cause_name(Cause cause);
// What would have to change for the time to go away, in words.
const char* cause_words(Cause cause);

using CyclesByCause = std::array<double, kCauses>;

// For so long a matrix unit takes no other matmul.
uint32_t matmul_cycles(const Opcode& opcode, const Device& device);

// The cause of each bundle's own cycle. A matrix unit counts as busy for as many bundles as a
// matmul takes cycles, from each one on, in the order of the text.
std::vector<Cause> causes_of(const Schedule& schedule, const Device& device);

// Adds up to the simulation's cycles.
CyclesByCause lost_time(const Schedule& schedule, const Simulation& simulation,
                        const Device& device);

}  // namespace evolve::ir
