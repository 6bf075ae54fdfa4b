#include "engine/llm/record.h"

#include "engine/core/digest.h"
#include "engine/core/json_read.h"
#include "engine/core/json_text.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

json tokens_record(const ChatRequest& request, const Reply& reply) {
  size_t asked = request.system.size();
  for (const Message& one : request.messages) asked += one.content.size();
  const bool has_input = reply.input_tokens > 0, has_output = reply.output_tokens > 0;
  return {{"input", has_input ? reply.input_tokens : estimated_tokens(asked)},
          {"output", has_output ? reply.output_tokens : estimated_tokens(reply.text.size())},
          {"cached_input", reply.cached_input_tokens},
          {"estimated", !has_input || !has_output}};
}

json attempts_record(const std::vector<Attempt>& attempts) {
  json out = json::array();
  for (const Attempt& one : attempts) {
    out.push_back({{"status", one.status}, {"outcome", one.outcome}, {"pause_seconds", one.pause}});
    if (one.is_control) out.back()["control"] = true;
  }
  return out;
}

}  // namespace

json request_record(const Question& question) {
  json out = {{"variant", question.variant}};
  if (question.request) out["request"] = chat_record(*question.request);
  return out;
}

Result<Question> read_question(const json& record) {
  Question out;
  out.variant = text_at(record, "variant");
  if (out.variant.empty()) return external("not a request.json");
  if (!record.contains("request")) return out;
  TRY_ASSIGN(auto request, read_chat_record(record["request"]));
  out.request = std::move(request);
  return out;
}

std::string digest_of_request(const json& record) {
  return digest_of(json_line(record)).hex();
}

json connection_record(const Connection& connection) {
  return {{"key_variable", connection.key_variable},
          {"requests_per_minute", connection.requests_per_minute}};
}

Connection read_connection(const json& prompt) {
  const json& connection = member(prompt, "connection");
  return {text_at(connection, "key_variable"),
          amount_at(connection, "requests_per_minute").value_or(0)};
}

json exchange_record(const Question& question, const Exchange& exchange, const std::string& key) {
  const Reply& reply = exchange.reply;
  json out = {{"verdict", "ok"},
              {"variant", question.variant},
              {"model", question.request->model},
              {"request_digest", digest_of_request(request_record(question))},
              {"attempts", attempts_record(exchange.attempts)}};
  if (exchange.refusal) {
    out.update({{"verdict", "rejected"},
                {"kind", "refused"},
                {"reason", *exchange.refusal},
                {"tokens", tokens_record(control_question(*question.request), reply)}});
    return out;
  }
  out.update({{"text", without_exactly(reply.text, key)},
              {"answered_by", without_exactly(reply.model, key)},
              {"finish", finish_name(reply.finish)},
              {"cut_off", reply.is_cut_off},
              {"tokens", tokens_record(*question.request, reply)},
              {"latency_seconds", exchange.seconds}});
  return out;
}

json unasked_record(const Question& question) {
  return {{"verdict", "unasked"},
          {"variant", question.variant},
          {"request_digest", digest_of_request(request_record(question))},
          {"attempts", json::array()}};
}

Finish finish_of(const json& exchange) {
  const std::string name = text_at(exchange, "finish");
  for (Finish one : {Finish::stop, Finish::length, Finish::filtered}) {
    if (name == finish_name(one)) return one;
  }
  return Finish::other;
}

Status check_answers(const json& prompt, const json& exchange) {
  const std::string digest = text_at(prompt, "request_digest");
  if (digest.empty() || text_at(exchange, "request_digest") != digest)
    return bad_input("the exchange belongs to another prompt");
  return {};
}

std::optional<search::Problem> rejection_of(const json& prompt, const json& exchange) {
  for (const json* record : {&prompt, &exchange}) {
    if (text_at(*record, "verdict") == "rejected")
      return search::Problem{text_at(*record, "kind"), text_at(*record, "reason")};
  }
  return std::nullopt;
}

Spent spent_on(const json& prompt, const json& exchange) {
  const json& tokens = member(exchange, "tokens");
  const int64_t input = count_at(tokens, "input"), output = count_at(tokens, "output");
  const Prices prices = read_prices(member(prompt, "prices"));
  return {prices.cost(input, output, count_at(tokens, "cached_input")), input + output};
}

}  // namespace evolve::llm
