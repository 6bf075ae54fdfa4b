#include "engine/llm/record.h"

#include <fmt/format.h>

#include "engine/core/digest.h"
#include "engine/llm/members.h"
#include "engine/llm/prompt.h"
#include "engine/llm/reply.h"
#include "engine/search/mutation.h"
#include "engine/search/selection_record.h"

namespace evolve::llm {

namespace {

using nlohmann::json;
using search::member;

std::string digest_of_request(const json& prompt) {
  return digest_of(member(prompt, "request").dump(-1, ' ', false, json::error_handler_t::replace))
      .hex();
}

// What prompt.json says of its place, for the records that follow.
json place_of(const json& prompt) {
  json out = json::object();
  for (const char* key : {"variant", "round", "mode", "model"}) out[key] = member(prompt, key);
  return out;
}

Finish finish_of(const json& exchange) {
  const std::string name = text_at(exchange, "finish");
  for (Finish one : {Finish::stop, Finish::length, Finish::filtered}) {
    if (name == finish_name(one)) return one;
  }
  return Finish::other;
}

search::Point parameters_of(const std::string& kernel, const json& spec) {
  std::vector<std::string> names;
  for (const json& one : list_at(spec, "parameters")) names.push_back(text_at(one, "name"));
  auto point = search::read_parameters(kernel, names);
  return point ? *std::move(point) : search::Point{};
}

Status check_belongs(const AdoptRequest& request) {
  const std::string variant = text_at(request.prompt, "variant");
  if (variant != request.id)
    return bad_input(fmt::format("the prompt is of '{}', not of '{}'", variant, request.id));
  if (is_rejected(request.prompt)) return {};
  if (text_at(request.exchange, "request_digest") != digest_of_request(request.prompt))
    return bad_input("the exchange answers another prompt");
  return {};
}

// What the code changes, and what is there beside it.
Result<search::AdoptionContext> context_of(const AdoptRequest& request) {
  const std::string mode = text_at(request.prompt, "mode");
  search::AdoptionContext out;
  out.entry = text_at(request.spec, "entry");
  out.parent = request.parent;
  if (mode == "crossover") {
    if (request.second_parent.empty()) return bad_input("crossover: no second parent's source");
    out.others = {request.second_parent};
  } else if (mode == "repair" && texts_at(request.prompt, "parents").size() > 1) {
    if (request.rejected.empty()) return bad_input("repair: no rejected variant's source");
    out.parent = request.rejected;
    out.others = {request.parent};
  }
  return out;
}

}  // namespace

bool is_rejected(const json& prompt) {
  return text_at(prompt, "verdict") == "rejected";
}

Result<Question> read_question(const json& prompt) {
  auto request = read_chat_record(member(prompt, "request"));
  if (!request) return std::move(request).error();
  const json& prices = member(prompt, "prices");
  const json& connection = member(prompt, "connection");
  Question out;
  out.request = *std::move(request);
  out.digest = digest_of_request(prompt);
  out.key_variable = text_at(connection, "key_variable");
  out.requests_per_minute = amount_at(connection, "requests_per_minute").value_or(0);
  out.input_usd_per_million = amount_at(prices, "input_usd_per_million").value_or(0);
  out.cached_input_usd_per_million = amount_at(prices, "cached_input_usd_per_million").value_or(0);
  out.output_usd_per_million = amount_at(prices, "output_usd_per_million").value_or(0);
  return out;
}

json exchange_record(const json& prompt, const Question& question, const Exchange& exchange,
                     const std::string& key) {
  const Reply& reply = exchange.reply;
  Model prices;
  prices.input_usd_per_million = question.input_usd_per_million;
  prices.cached_input_usd_per_million = question.cached_input_usd_per_million;
  prices.output_usd_per_million = question.output_usd_per_million;
  const bool is_counted = reply.input_tokens > 0 && reply.output_tokens > 0;
  size_t asked = question.request.system.size();
  for (const Message& one : question.request.messages) asked += one.content.size();
  const int64_t input = reply.input_tokens > 0 ? reply.input_tokens : estimated_tokens(asked);
  const int64_t output =
      reply.output_tokens > 0 ? reply.output_tokens : estimated_tokens(reply.text.size());
  json attempts = json::array();
  for (const Attempt& one : exchange.attempts) {
    attempts.push_back(
        {{"status", one.status}, {"outcome", one.outcome}, {"pause_seconds", one.pause}});
  }
  json out = place_of(prompt);
  out.update({{"verdict", "ok"},
              {"request_digest", question.digest},
              {"text", without_exactly(reply.text, key)},
              {"answered_by", without_exactly(reply.model, key)},
              {"finish", finish_name(reply.finish)},
              {"cut_off", reply.is_cut_off},
              {"tokens",
               {{"input", input},
                {"output", output},
                {"cached_input", reply.cached_input_tokens},
                {"estimated", !is_counted}}},
              {"cost_usd", prices.cost(input, output, reply.cached_input_tokens)},
              {"latency_seconds", exchange.seconds},
              {"attempts", attempts}});
  return out;
}

json passed_on(const json& prompt) {
  json out = place_of(prompt);
  out.update({{"verdict", "rejected"},
              {"kind", text_at(prompt, "kind")},
              {"reason", text_at(prompt, "reason")},
              {"cost_usd", 0},
              {"attempts", json::array()}});
  return out;
}

Result<Adopted> adopt(const AdoptRequest& request) {
  if (auto status = check_belongs(request); !status) return std::move(status).error();
  const std::string mode = text_at(request.prompt, "mode");
  const json& tokens = member(request.exchange, "tokens");
  Proposal proposal;
  if (is_rejected(request.prompt)) {
    proposal.problem = {text_at(request.prompt, "kind"), text_at(request.prompt, "reason")};
  } else {
    auto context = context_of(request);
    if (!context) return std::move(context).error();
    auto read =
        read_proposal(text_at(request.exchange, "text"), finish_of(request.exchange), *context);
    if (!read) return std::move(read).error();
    proposal = *std::move(read);
  }
  // The parent's own program is known, and costs nothing.
  if (proposal.problem) proposal.kernel = request.parent;
  std::string note = fmt::format("{} by {}: ", mode, text_at(request.prompt, "model"));
  note += proposal.problem        ? proposal.problem->kind
          : proposal.plan.empty() ? "no plan"
                                  : proposal.plan;
  Adopted out;
  out.variant =
      search::variant_record(request.id, request.round, texts_at(request.prompt, "parents"), "llm",
                             parameters_of(proposal.kernel, request.spec), note);
  json& exchange = out.variant["exchange"];
  exchange = {{"model", text_at(request.prompt, "model")},
              {"mode", mode},
              {"cost_usd", amount_at(request.exchange, "cost_usd").value_or(0)},
              {"tokens", count_at(tokens, "input") + count_at(tokens, "output")},
              {"learnings", proposal.learnings}};
  if (proposal.problem) {
    exchange["problem"] = {{"kind", proposal.problem->kind}, {"reason", proposal.problem->reason}};
  }
  out.kernel = std::move(proposal.kernel);
  return out;
}

}  // namespace evolve::llm
