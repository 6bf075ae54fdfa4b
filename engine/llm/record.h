// The records after the prompt: exchange.json and variant.json (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/result.h"
#include "engine/llm/exchange.h"
#include "engine/llm/slots.h"

namespace evolve::llm {

// What an exchange needs of a prompt.json whose verdict is "ok".
struct Question {
  ChatRequest request;
  std::string digest;  // of the request, in hex
  std::string key_variable;
  double requests_per_minute = 0;
  double input_usd_per_million = 0, cached_input_usd_per_million = 0, output_usd_per_million = 0;
};

// External error: not a prompt.json.
Result<Question> read_question(const nlohmann::json& prompt);
bool is_rejected(const nlohmann::json& prompt);

// exchange.json of an answer; tokens that the server did not count are estimated, and said to be.
nlohmann::json exchange_record(const nlohmann::json& prompt, const Question& question,
                               const Exchange& exchange, const std::string& key);
// exchange.json of a prompt that is rejected: nothing was asked.
nlohmann::json passed_on(const nlohmann::json& prompt);

struct AdoptRequest {
  nlohmann::json exchange, prompt, spec;
  std::string id;
  int round = 0;
  std::string parent, second_parent, rejected;  // sources; empty: not given
};
struct Adopted {
  std::string kernel;
  nlohmann::json variant;
};
// The kernel and variant.json of an exchange. Without usable code the kernel is the parent's, and
// variant.json says why. Bad input: records that do not belong together, or a source that is
// missing or without an EVOLVE block.
Result<Adopted> adopt(const AdoptRequest& request);

}  // namespace evolve::llm
