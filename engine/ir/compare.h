// The comparison of two programs' facts: the changes from the first to the second.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/facts.h"

namespace evolve::ir {

// Differences below this share of the time are ties, because the model cannot order times that are
// so close.
constexpr double kTie = 0.03;

// Seconds of the first program and of the second.
struct Change {
  double before = 0;
  double after = 0;
  [[nodiscard]] double difference() const { return after - before; }
};

struct CauseChange {
  std::string cause;
  std::string what;  // in words
  Change seconds;
};

struct ModuleChange {
  std::string name;  // without the number that XLA gave it
  Change seconds;
};

// A section of the first program and the corresponding section of the second. Nullopt: the program
// has no corresponding section. If both are nullopt, the entry has all other sections of the
// module, or, for the module "", all other modules.
struct SectionChange {
  std::string module;
  Change seconds;
  std::optional<SectionWork> before;
  std::optional<SectionWork> after;
};

struct CountChange {
  std::string what;
  std::string unit;
  double before = 0;
  double after = 0;
};

// The entries of each list of seconds add up to the whole; the largest change comes first.
struct FactsComparison {
  std::array<std::string, 2> targets;
  Change seconds;       // modelled
  bool is_tie = false;  // the model cannot order the two programs
  std::vector<CauseChange> by_cause;
  std::vector<ModuleChange> kernels;
  std::vector<SectionChange> sections;  // of modules that each program has once
  std::vector<CountChange> counts;      // the other changes
};

// Compares two programs. A count is left out if it is equal in both, or if one has no value.
FactsComparison compare_facts(const Facts& before, const Facts& after);

}  // namespace evolve::ir
