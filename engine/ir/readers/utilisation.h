// The reader of libtpu's table of the units that a module's bundles use, the dump
// "…-final_hlo-static-per-bundle-utilization.txt":
//
//   == CAPACTIY:                          (sic)
//   MXU, XLU, VALU, …
//       2     2     4 …                   for each unit, the room of a bundle in instructions
//   == UTILIZATION:
//   0 0 3 …                               a line for each bundle of "final_bundles"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::ir {

constexpr std::string_view kUtilisationDump = "final_hlo-static-per-bundle-utilization.txt";

struct UnitUse {
  std::string unit;       // libtpu's name: "MXU", "VLOAD:FILL"
  uint64_t capacity = 0;  // instructions per bundle
  uint64_t used = 0;      // instructions of the text
};

struct Utilisation {
  uint64_t bundles = 0;
  uint64_t line = 0;  // of the first bundle
  std::vector<UnitUse> units;
};

// Reads a dump. Bad input: "<name>:<line>: …".
Result<Utilisation> read_utilisation(std::string_view text, const std::string& name);

}  // namespace evolve::ir
