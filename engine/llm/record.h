// The records about an exchange: request.json and exchange.json (engine/llm/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/llm/config.h"
#include "engine/llm/exchange.h"
#include "engine/search/proposal/adoption.h"

namespace evolve::llm {

// The question for one variant. If two variants' questions have the same words, both are asked.
struct Question {
  std::string variant;
  std::optional<ChatRequest> request;  // nullopt: the prompt was rejected, and nothing is asked
};

// Converts a question to request.json, and back. External error: the record is not a request.json.
nlohmann::json request_record(const Question& question);
Result<Question> read_question(const nlohmann::json& record);
// Returns the XXH3-128 of request.json, in hex. The digest ties an answer to its question.
std::string digest_of_request(const nlohmann::json& record);

// The way to reach a model: `connection` of prompt.json. The connection is not part of the
// question.
struct Connection {
  std::string key_variable;        // empty: no key is sent
  double requests_per_minute = 0;  // 0: no limit of ours
};
nlohmann::json connection_record(const Connection& connection);
Connection read_connection(const nlohmann::json& prompt);

// Returns the exchange.json of an answer or a refusal, without the key. Tokens that the server did
// not count are estimated and marked so. REQUIRES: the question has a request.
nlohmann::json exchange_record(const Question& question, const Exchange& exchange,
                               const std::string& key);
// Returns the exchange.json of a question without a request.
nlohmann::json unasked_record(const Question& question);

// Returns how the reply in an exchange.json ended.
Finish finish_of(const nlohmann::json& exchange);
// Checks that an exchange.json answers the request of a prompt.json. Bad input: the exchange
// belongs to another prompt.
Status check_answers(const nlohmann::json& prompt, const nlohmann::json& exchange);
// Returns why a prompt, or else its exchange, was rejected. Nullopt: neither was rejected.
std::optional<search::Problem> rejection_of(const nlohmann::json& prompt,
                                            const nlohmann::json& exchange);
// The cost of an exchange, by the prompt's prices.
struct Spent {
  double cost_usd = 0;
  int64_t tokens = 0;  // input and output
};
Spent spent_on(const nlohmann::json& prompt, const nlohmann::json& exchange);

}  // namespace evolve::llm
