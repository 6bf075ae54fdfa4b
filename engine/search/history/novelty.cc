#include "engine/search/history/novelty.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/search/selection/origin.h"

namespace evolve::search {

namespace {

using nlohmann::json;

Result<Sketched> read_line(const json& from) {
  Sketched out;
  const Error bad = external("not the sketches of a variant");
  TRY_ASSIGN(auto origin, read_origin(from, "variant", "sketches.jsonl"));
  out.id = origin.id;
  out.round = origin.round;
  out.parameters = std::move(origin.parameters);
  const json &program = member(from, "program"), &cases = member(from, "cases");
  if (!program.is_string() || !cases.is_object()) return bad;
  out.program = program;
  for (const auto& [name, record] : cases.items()) {
    TRY_ASSIGN(auto sketch, read_sketch(record));
    out.sketches[name] = std::move(sketch);
  }
  return out;
}

}  // namespace

bool is_near_duplicate(const PastVariant& past) {
  return past.rejection && past.rejection->kind == kNearDuplicate;
}

double distance(const Sketched& one, const Sketched& other) {
  if (one.parameters != other.parameters || one.sketches.size() != other.sketches.size()) return 1;
  double largest = 0;
  for (const auto& [name, sketch] : one.sketches) {
    auto it = other.sketches.find(name);
    largest = std::max(largest, it == other.sketches.end() ? 1 : distance(sketch, it->second));
  }
  return largest;
}

std::vector<NoveltyEntry> near_duplicates(const std::vector<Sketched>& variants, double least,
                                          const History& history, std::vector<Sketched>& earlier) {
  std::set<std::string> known;
  std::set<VariantId> turned_down;
  for (const PastVariant& past : history) {
    if (past.rejection) turned_down.insert(past.id);
    if (!past.program.empty() && !is_near_duplicate(past)) known.insert(past.program);
  }
  std::erase_if(earlier, [&](const Sketched& one) { return turned_down.contains(one.id); });
  for (const Sketched& one : earlier) known.insert(one.program);
  const size_t passed = earlier.size();
  std::vector<NoveltyEntry> out;
  for (const Sketched& variant : variants) {
    NoveltyEntry entry;
    entry.id = variant.id;
    entry.is_known = known.contains(variant.program);
    for (size_t i = 0; i < passed; ++i) {
      const double apart = distance(variant, earlier[i]);
      if (apart >= entry.distance.value_or(1)) continue;
      entry.distance = apart;
      entry.nearest = earlier[i].id;
    }
    entry.is_near = !entry.is_known && entry.distance && *entry.distance < least;
    if (!entry.is_known && !entry.is_near) {
      known.insert(variant.program);
      earlier.push_back(variant);
    }
    out.push_back(entry);
  }
  return out;
}

Result<std::vector<Sketched>> read_sketches(std::string_view lines) {
  std::vector<Sketched> out;
  for (int number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    auto one = read_line(json_or_null(lines.substr(0, end)));
    if (!one) return std::move(one).error().within(fmt::format("line {}", number));
    out.push_back(*std::move(one));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string sketch_lines(const std::vector<Sketched>& all) {
  std::string out;
  for (const Sketched& one : all) {
    json cases = json::object();
    for (const auto& [name, sketch] : one.sketches) cases[name] = sketch_record(sketch);
    const json line = {{"variant", one.id},
                       {"round", one.round},
                       {"parameters", one.parameters},
                       {"program", one.program},
                       {"cases", cases}};
    out += json_line(line) + "\n";
  }
  return out;
}

}  // namespace evolve::search
