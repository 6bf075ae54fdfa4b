// From an answer to a kernel and its variant.json (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/result.h"

namespace evolve::llm {

struct AdoptRequest {
  nlohmann::json exchange, prompt, spec;
  nlohmann::json plan;  // plan.json, of a model that wrote one first; null: it did not
  std::string id;
  int round = 0;
  std::string parent, second_parent, rejected;  // sources; empty: not given
};
struct Adopted {
  std::string kernel;
  nlohmann::json variant;
};
// The kernel and variant.json of an exchange, with what it cost by the prompt's prices. Without
// usable code the kernel is the parent's, and variant.json says why. Bad input: records that do not
// belong together, or a source that is missing or without an EVOLVE block.
Result<Adopted> adopt(const AdoptRequest& request);

}  // namespace evolve::llm
