#include "engine/search/selection/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/core/json_read.h"

namespace evolve::search {

namespace {

using nlohmann::json;

Error bad_origin(const std::string& record, const std::string& what) {
  return external(fmt::format("{}: {}", record, what));
}

Result<Point> read_point(const json& from, const std::string& record) {
  if (!from.is_object()) return bad_origin(record, "the parameters are missing");
  Point point;
  for (const auto& [name, value] : from.items()) {
    if (!value.is_number_integer())
      return bad_origin(record, fmt::format("'{}' is not a whole number", name));
    point[name] = value.get<int64_t>();
  }
  return point;
}

// Returns a finite number of at least 0; any other value is read as 0.
double amount_member(const json& object, const char* key) {
  const json& value = member(object, key);
  const double number = value.is_number() ? value.get<double>() : 0;
  return number > 0 && number < INFINITY ? number : 0;
}

}  // namespace

std::optional<ExchangeSummary> read_exchange_summary(const json& from) {
  if (!from.is_object()) return std::nullopt;
  constexpr double kMostTokens = 1e12;
  ExchangeSummary out;
  out.model = text_at(from, "model");
  out.mode = text_at(from, "mode");
  out.cost_usd = amount_member(from, "cost_usd");
  out.tokens = static_cast<int64_t>(std::min(amount_member(from, "tokens"), kMostTokens));
  for (const json& sentence : member(from, "learnings")) {
    if (sentence.is_string()) out.learnings.push_back(sentence.get<std::string>());
  }
  return out;
}

json exchange_summary_record(const ExchangeSummary& exchange) {
  return {{"model", exchange.model},
          {"mode", exchange.mode},
          {"cost_usd", exchange.cost_usd},
          {"tokens", exchange.tokens},
          {"learnings", exchange.learnings}};
}

Result<Origin> read_origin(const json& from, const char* id_key, const std::string& record) {
  Origin out;
  const auto id = VariantId::parse(text_at(from, id_key));
  const json& round = member(from, "round");
  if (!id || !round.is_number_integer())
    return bad_origin(record, "the id or the round is missing");
  out.id = *id;
  out.round = round.get<int>();
  out.note = text_at(from, "note");
  out.mutator = text_at(from, "mutator");
  out.source = text_at(from, "source");
  out.structure = text_at(from, "structure");
  out.exchange = read_exchange_summary(member(from, "exchange"));
  for (const json& parent : member(from, "parents")) {
    const auto parent_id =
        parent.is_string() ? VariantId::parse(parent.get_ref<const std::string&>()) : std::nullopt;
    if (parent_id) out.parents.push_back(*parent_id);
  }
  TRY_ASSIGN(auto parameters, read_point(member(from, "parameters"), record));
  out.parameters = std::move(parameters);
  return out;
}

json variant_record(const Origin& origin) {
  json out = {{"id", origin.id},           {"round", origin.round},
              {"parents", origin.parents}, {"mutator", origin.mutator},
              {"note", origin.note},       {"parameters", origin.parameters}};
  if (origin.exchange) out["exchange"] = exchange_summary_record(*origin.exchange);
  return out;
}

json problem_record(const Problem& problem) {
  return {{"kind", problem.kind}, {"reason", problem.reason}};
}

}  // namespace evolve::search
