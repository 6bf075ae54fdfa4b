// The layout of a kernel's operands in HBM while the kernel is simulated. The operands follow one
// another, and each takes the room of its tiles. So the address of a transfer says which operand
// the transfer moves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

class HbmLayout {
 public:
  explicit HbmLayout(const Schedule& schedule);

  // Returns an operand's address in granules of 32 bytes. Nullopt: the operand is not in HBM, or
  // there is no room for it.
  [[nodiscard]] std::optional<uint32_t> address_of(uint32_t operand) const;
  // The place of an address: the operand there, and how many granules of the operand are before the
  // address. Nullopt: no operand is there.
  struct Place {
    uint32_t operand = 0;
    uint32_t granule = 0;
  };
  [[nodiscard]] std::optional<Place> at(uint32_t address) const;

 private:
  std::map<uint32_t, uint32_t> by_number_;   // addresses, by operand
  std::map<uint32_t, uint32_t> by_address_;  // operands, by address
  uint64_t end_;
};

}  // namespace evolve::ir
