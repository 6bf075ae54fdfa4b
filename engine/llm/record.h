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

// What is asked for one variant. Two variants with the same words are two samples.
struct Question {
  std::string variant;
  std::optional<ChatRequest> request;  // none: the prompt was rejected, and nothing is asked
};

// request.json, and read back; an external error where it is not one.
nlohmann::json request_record(const Question& question);
Result<Question> read_question(const nlohmann::json& record);
// XXH3-128 of request.json, in hex: by it an answer belongs to its question.
std::string digest_of_request(const nlohmann::json& record);

// How a model is reached, which is no part of what it is asked: `connection` of prompt.json.
struct Connection {
  std::string key_variable;        // empty: no key is sent
  double requests_per_minute = 0;  // 0: no limit of ours
};
nlohmann::json connection_record(const Connection& connection);
Connection read_connection(const nlohmann::json& prompt);

// exchange.json of an answer or a refusal; tokens that the server did not count are estimated, and
// said to be. REQUIRES: the question has a request.
nlohmann::json exchange_record(const Question& question, const Exchange& exchange,
                               const std::string& key);
// exchange.json of a question without a request.
nlohmann::json unasked_record(const Question& question);

// How the reply in an exchange.json ended.
Finish finish_of(const nlohmann::json& exchange);
// Bad input: an exchange.json is no answer to what a prompt.json is of.
Status check_answers(const nlohmann::json& prompt, const nlohmann::json& exchange);
// What a prompt, or else its exchange, was rejected for; nothing where there is a reply.
std::optional<search::Problem> rejection_of(const nlohmann::json& prompt,
                                            const nlohmann::json& exchange);
// What an exchange took, by the prompt's prices.
struct Spent {
  double cost_usd = 0;
  int64_t tokens = 0;  // input and output
};
Spent spent_on(const nlohmann::json& prompt, const nlohmann::json& exchange);

}  // namespace evolve::llm
