// Adoption: the step from a model's answer to a kernel and its variant.json (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/result.h"
#include "engine/search/variant.h"

namespace evolve::llm {

struct AdoptRequest {
  nlohmann::json exchange, prompt, spec;
  nlohmann::json plan;  // plan.json; null: the model wrote no plan first
  VariantId id;
  int round = 0;
  std::string parent, second_parent, rejected;  // sources; empty: not given
};
struct Adopted {
  std::string kernel;
  nlohmann::json variant;
};
// Returns the kernel and variant.json of an exchange, with its cost by the prompt's prices. Without
// usable code the kernel is the parent's, and variant.json says why. Bad input: records that do not
// belong together, or a source that is missing or has no EVOLVE block.
Result<Adopted> adopt(const AdoptRequest& request);

}  // namespace evolve::llm
