#include "engine/search/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/core/digest.h"
#include "engine/search/member.h"
#include "engine/search/selection_record.h"

namespace evolve::search {

namespace {

using nlohmann::json;

PastVariant past_of(Evaluated variant) {
  PastVariant out;
  out.id = std::move(variant.id);
  out.round = variant.round;
  out.mutator = std::move(variant.mutator);
  out.parents = std::move(variant.parents);
  out.parameters = std::move(variant.parameters);
  out.note = std::move(variant.note);
  out.source = std::move(variant.source);
  out.structure = std::move(variant.structure);
  out.rejection = std::move(variant.rejection);
  if (out.rejection) out.rejection->evidence = {};
  out.exchange = std::move(variant.exchange);
  return out;
}

json line_of(const PastVariant& past) {
  json out = {{"variant", past.id},      {"round", past.round},           {"mutator", past.mutator},
              {"parents", past.parents}, {"parameters", past.parameters}, {"note", past.note},
              {"source", past.source},   {"structure", past.structure}};
  if (!past.program.empty()) out["program"] = past.program;
  if (!past.known_as.empty()) out["known_as"] = past.known_as;
  if (past.score) out["score"] = *past.score;
  if (past.half_width > 0) out["half_width"] = past.half_width;
  if (past.rejection) out["rejection"] = rejection_record(*past.rejection);
  if (!past.exchange.is_null()) out["exchange"] = past.exchange;
  return out;
}

Result<PastVariant> read_line(const json& from) {
  auto variant = read_variant_core(from, "variant", "history.jsonl");
  if (!variant) return std::move(variant).error();
  PastVariant out = past_of(*std::move(variant));
  for (const auto& [key, text] :
       {std::pair("program", &out.program), {"known_as", &out.known_as}}) {
    if (const json& value = member(from, key); value.is_string()) *text = value;
  }
  if (const json& score = member(from, "score"); score.is_number()) out.score = score;
  if (const json& width = member(from, "half_width"); width.is_number()) out.half_width = width;
  if (const json& why = member(from, "rejection"); !why.is_null()) {
    auto rejection = read_rejection(why);
    if (!rejection) return std::move(rejection).error();
    out.rejection = *std::move(rejection);
  }
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
  std::map<std::string, const Ranked*> ranks;
  for (const Ranked& ranked : selection.ranking) ranks[ranked.variant.id] = &ranked;
  std::map<std::string, std::string> known;  // the first variant of each program
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
  for (int number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const json line = json::parse(lines.substr(0, end), nullptr, false);
    auto past = read_line(line);
    if (!past) return std::move(past).error().within(fmt::format("line {}", number));
    out.push_back(*std::move(past));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string history_lines(const History& history) {
  std::string out;
  for (const PastVariant& past : history) {
    out += line_of(past).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace evolve::search
