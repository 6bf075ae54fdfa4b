#include "engine/ir/model/hbm_layout.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace evolve::ir {

namespace {

// The range of the layout's addresses. It is above all results of parameter_address, and below all
// addresses that a signed comparison takes for negative. Parameter addresses that count granules
// can be in the same range. The direction of a transfer tells the two kinds of address apart.
constexpr uint64_t kFirst = uint64_t{1} << 28;
constexpr uint64_t kEnd = uint64_t{1} << 31;

// Returns the most granules that an operand takes. Its last extent is padded to 128, the extent
// before it to 32 (a tile of one-byte numbers), and no element has more than 4 bytes. Nullopt:
// there is not enough room.
std::optional<uint64_t> most_granules(const KernelOperand& operand) {
  constexpr uint64_t kLanes = 128, kRows = 32, kMostBytes = 4, kGranule = 32;
  auto padded = [](uint64_t extent, uint64_t to) { return (extent + to - 1) / to * to; };
  uint64_t count = kMostBytes;
  const size_t rank = operand.shape.size();
  for (size_t i = 0; i < std::max<size_t>(rank, 2); ++i) {
    // Extents count from the last one. A missing extent counts as 1.
    const uint64_t extent = std::max<uint64_t>(i < rank ? operand.shape[rank - 1 - i] : 1, 1);
    const uint64_t size = i == 0 ? padded(extent, kLanes) : i == 1 ? padded(extent, kRows) : extent;
    if (count > kEnd * kGranule / size) return std::nullopt;
    count *= size;
  }
  return count / kGranule;
}

}  // namespace

HbmLayout::HbmLayout(const Schedule& schedule) : end_(kFirst) {
  for (const KernelOperand& operand : schedule.operands) {
    if (operand.space != "hbm" || by_number_.contains(operand.number)) continue;
    const auto granules = most_granules(operand);
    if (!granules || end_ + *granules > kEnd) continue;
    by_number_[operand.number] = static_cast<uint32_t>(end_);
    by_address_[static_cast<uint32_t>(end_)] = operand.number;
    end_ += *granules;
  }
}

std::optional<uint32_t> HbmLayout::address_of(uint32_t operand) const {
  auto found = by_number_.find(operand);
  return found == by_number_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<HbmLayout::Place> HbmLayout::at(uint32_t address) const {
  auto behind = by_address_.upper_bound(address);
  if (behind == by_address_.begin() || address >= end_) return std::nullopt;
  const auto [first, operand] = *std::prev(behind);
  return Place{operand, address - first};
}

}  // namespace evolve::ir
