// The causes of a kernel's time. Every cycle has one cause, so the causes add up to the whole.
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
  vector,         // the matrix units are idle, and another vector unit has work
  spill,          // only spills and fills of vector registers
  scalar,         // only the scalar unit and the start of DMAs
  latency,        // an empty bundle, which waits for a result
  dma_bandwidth,  // a wait for a DMA while its bytes, or earlier bytes, are moving
  dma_latency,    // a wait for a DMA whose bytes have all moved
  drain,          // the last DMAs, after the last bundle
};
constexpr size_t kCauses = 8;
const char* cause_name(Cause cause);
// Returns the words for a cause. They name what a kernel must avoid to save the cause's time.
const char* cause_words(Cause cause);

using CyclesByCause = std::array<double, kCauses>;

// Returns the cycles for which a matmul keeps its matrix unit from taking another matmul.
uint32_t matmul_cycles(const Opcode& opcode, const Device& device);

// Returns the cause of each bundle's own cycle. Each matmul makes its matrix unit busy for as many
// bundles as it takes cycles, counted in the order of the text.
std::vector<Cause> causes_of(const Schedule& schedule, const Device& device);

// Returns the cycles of each cause; they add up to the simulation's cycles.
CyclesByCause lost_time(const Schedule& schedule, const Simulation& simulation,
                        const Device& device);

}  // namespace evolve::ir
