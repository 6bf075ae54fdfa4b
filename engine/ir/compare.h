// The comparison of two programs' facts: what changed from one to the other.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/facts.h"

namespace evolve::ir {

// Differences below this share of the time are ties: the model does not order what lies closer.
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

// Sections that correspond. Nullopt: there is no such section. If there are neither, these are all
// other sections of the module, or, for the module "", all other modules.
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
  std::vector<CountChange> counts;      // what else changed
};

// Compares two programs. What only one of them tells is left out.
FactsComparison compare_facts(const Facts& before, const Facts& after);

}  // namespace evolve::ir
