// The rejection of a variant, as the reports of steps and the records of a round state it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The element of an output that differs most from the reference.
struct WorstElement {
  std::string output;              // its name
  std::string inputs;              // the set of inputs that it was computed from
  std::vector<int64_t> at;         // its index
  std::string got;                 // with nine digits, or "nan"
  std::optional<double> expected;  // nullopt: not finite
};

// The evidence that a step gives, besides the reason.
struct RejectionEvidence {
  std::optional<WorstElement> worst;  // nullopt: no element was compared
};

// Why a variant is rejected. If several steps reject it, this is the most informative failure
// (place_of in evaluated_record.cc), and the first of equally informative ones.
struct Rejection {
  std::string step;  // "compile"
  std::string case_name;
  std::string kind;  // "out-of-memory"
  std::string reason;
  std::optional<RejectionEvidence> evidence = {};  // nullopt: the step gives none
};

// Reads the `evidence` of a report or record. Nullopt: the evidence is missing. A member that is
// missing or of another type is read as empty.
std::optional<RejectionEvidence> read_rejection_evidence(const nlohmann::json& from);

// Reads a rejection. External error: the step or the kind is missing.
Result<Rejection> read_rejection(const nlohmann::json& from);
nlohmann::json rejection_record(const Rejection& rejection);

}  // namespace evolve::search
