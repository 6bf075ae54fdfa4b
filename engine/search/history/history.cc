#include "engine/search/history/history.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/core/digest.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"

namespace evolve::search {

namespace {

using nlohmann::json;

PastVariant past_of(const Evaluated& variant) {
  PastVariant out;
  static_cast<Origin&>(out) = variant;
  out.rejection = variant.rejection;
  if (out.rejection) out.rejection->evidence.reset();
  return out;
}

json line_of(const PastVariant& past) {
  json out = {{"variant", past.id},      {"round", past.round},           {"mutator", past.mutator},
              {"parents", past.parents}, {"parameters", past.parameters}, {"note", past.note},
              {"source", past.source},   {"structure", past.structure}};
  if (!past.program.empty()) out["program"] = past.program;
  if (past.known_as) out["known_as"] = *past.known_as;
  if (past.score) out["score"] = *past.score;
  if (past.half_width > 0) out["half_width"] = past.half_width;
  if (past.rejection) out["rejection"] = rejection_record(*past.rejection);
  if (past.exchange) out["exchange"] = exchange_summary_record(*past.exchange);
  return out;
}

// simdjson reads the lines, because it is fast, and each round reads a line for every variant of
// the campaign so far. read_history() catches the exceptions of simdjson.
namespace dom = simdjson::dom;

json json_of(dom::element value) {
  auto out = parse_outside(simdjson::minify(value));
  if (!out) throw std::runtime_error(out.error().message);
  return *std::move(out);
}

std::string text_of(dom::element value) {
  return std::string(std::string_view(value));
}

// Reads an id. Throws if the text is not an id.
VariantId id_of(dom::element value) {
  const auto id = VariantId::parse(std::string_view(value));
  if (!id) throw std::runtime_error("a text that is no variant's id");
  return *id;
}

// Reads one member of a line; unknown members are ignored.
void read_member(std::string_view key, dom::element value, PastVariant& out) {
  if (key == "variant") out.id = id_of(value);
  if (key == "round") out.round = static_cast<int>(int64_t(value));
  if (key == "mutator") out.mutator = text_of(value);
  if (key == "note") out.note = text_of(value);
  if (key == "source") out.source = text_of(value);
  if (key == "structure") out.structure = text_of(value);
  if (key == "program") out.program = text_of(value);
  if (key == "known_as") out.known_as = id_of(value);
  if (key == "score") out.score = double(value);
  if (key == "half_width") out.half_width = double(value);
  if (key == "exchange") out.exchange = read_exchange_summary(json_of(value));
  if (key == "parents") {
    for (dom::element parent : value.get_array()) out.parents.push_back(id_of(parent));
  }
  if (key == "parameters") {
    for (const auto& [name, number] : value.get_object())
      out.parameters[std::string(name)] = number;
  }
}

Result<PastVariant> read_line(dom::element line) {
  PastVariant out;
  out.round = -1;
  bool has_id = false, has_parameters = false;
  for (const auto& [key, value] : line.get_object()) {
    if (value.is_null()) continue;
    read_member(key, value, out);
    has_id = has_id || key == "variant";
    has_parameters = has_parameters || key == "parameters";
    if (key == "rejection") {
      TRY_ASSIGN(auto rejection, read_rejection(json_of(value)));
      out.rejection = std::move(rejection);
    }
  }
  if (!has_id || out.round < 0) return external("the id or the round is missing");
  if (!has_parameters) return external("the parameters are missing");
  return out;
}

}  // namespace

std::string program_of(const std::map<std::string, std::string>& digests,
                       const std::vector<BenchCase>& cases) {
  if (digests.size() != cases.size()) return {};
  std::string all;
  for (const auto& [name, digest] : digests) all += fmt::format("{} {}\n", name, digest);
  return digest_of(all).hex();
}

History history_of_round(const History& before, const SelectionRequest& request,
                         const Selection& selection) {
  History out;
  std::map<VariantId, const Ranked*> ranks;
  for (const Ranked& ranked : selection.ranking) ranks[ranked.variant.id] = &ranked;
  std::map<std::string, VariantId> known;  // the first variant of each program
  for (const PastVariant& past : before) known.try_emplace(past.program, past.id);
  auto append = [&](const Evaluated& variant) {
    PastVariant past = past_of(variant);
    past.program = program_of(variant.programs, request.cases);
    if (auto rank = ranks.find(past.id); rank != ranks.end()) {
      past.score = rank->second->score;
      past.half_width = rounded(rank->second->half_width);
    }
    if (!past.program.empty()) {
      const auto& [first, is_new] = known.try_emplace(past.program, past.id);
      if (!is_new) past.known_as = first->second;
    }
    out.push_back(std::move(past));
  };
  if (before.empty()) append(request.seed);
  for (const Evaluated& variant : request.variants) append(variant);
  return out;
}

Result<History> read_history(std::string_view lines) {
  History out;
  out.reserve(static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')) + 1);
  // The text is padded, because the parser reads bytes beyond a line's end, although it ignores
  // them.
  const simdjson::padded_string text(lines);
  dom::parser parser;
  for (size_t start = 0; start < lines.size();) {
    const size_t end = std::min(lines.find('\n', start), lines.size());
    auto at_fault = [&](Error error) {
      return std::move(error).within(fmt::format("line {}: history.jsonl", out.size() + 1));
    };
    try {
      auto past = read_line(parser.parse(text.data() + start, end - start, false));
      if (!past) return at_fault(std::move(past).error());
      out.push_back(*std::move(past));
    } catch (const std::exception& error) {
      return at_fault(external(error.what()));
    }
    start = end + 1;
  }
  return out;
}

std::string history_lines(const History& history) {
  std::string out;
  for (const PastVariant& past : history) {
    out += json_line(line_of(past)) + "\n";
  }
  return out;
}

}  // namespace evolve::search
