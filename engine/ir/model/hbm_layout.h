// Where a kernel's operands lie in HBM while it is simulated: one behind another, each as large as
// its tiles make it, so that the address of a transfer says whose it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

class HbmLayout {
 public:
  explicit HbmLayout(const Schedule& schedule);

  // In granules of 32 bytes; nullopt for an operand that is not in HBM, or that there is no room
  // for.
  [[nodiscard]] std::optional<uint32_t> address_of(uint32_t operand) const;
  // What lies at an address: the number of an operand, and how many granules of it lie before;
  // nullopt where none does.
  struct Place {
    uint32_t operand = 0;
    uint32_t granule = 0;
  };
  [[nodiscard]] std::optional<Place> at(uint32_t address) const;

 private:
  std::map<uint32_t, uint32_t> by_number_;   // addresses
  std::map<uint32_t, uint32_t> by_address_;  // numbers
  uint64_t end_;
};

}  // namespace evolve::ir
