// The origin of a variant: the part that variant.json, history.jsonl and selection.json have in
// common.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/proposal/adoption.h"
#include "engine/search/space/space.h"
#include "engine/search/variant.h"

namespace evolve::search {

// A summary of the exchange with a language model for a variant.
struct ExchangeSummary {
  std::string model;
  std::string mode;                    // "rewrite"
  double cost_usd = 0;                 // with the cost of the plan, if the model planned first
  int64_t tokens = 0;                  // with the plan's tokens
  std::vector<std::string> learnings;  // of the variant, in the model's words
};

// Reads a summary. Nullopt: `from` is not an object. A member that is missing or of another type is
// read as empty or 0.
std::optional<ExchangeSummary> read_exchange_summary(const nlohmann::json& from);
nlohmann::json exchange_summary_record(const ExchangeSummary& exchange);

struct Origin {
  VariantId id;
  int round = 0;
  std::string mutator;
  std::vector<VariantId> parents;
  Point parameters;
  std::string note;
  // Digests of the canonical source, and of that source without the values of its parameters. They
  // are SHA-256, because Python steps compute them, too. Sources with the same structure differ
  // only in values that a sweep changes.
  std::string source;
  std::string structure;
  std::optional<ExchangeSummary> exchange;  // nullopt: no model was asked
};

// Reads the origin from a record that has the id under the key `id_key`. External error: the id,
// the round or the parameters are missing. `record`: the name of the record in the error.
Result<Origin> read_origin(const nlohmann::json& from, const char* id_key,
                           const std::string& record);

// Returns a variant.json. It has no digests of the source, because the source is not canonical yet.
nlohmann::json variant_record(const Origin& origin);
// Returns the `problem` of a variant.json, for a proposal that is not a kernel.
nlohmann::json problem_record(const Problem& problem);

}  // namespace evolve::search
