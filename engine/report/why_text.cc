#include "engine/report/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/core/text/units.h"
#include "engine/report/table.h"

namespace evolve {

namespace {

using nlohmann::json;

constexpr size_t kChangesShown = 4;  // per edge

std::string edges_text(int count) {
  return fmt::format("{} edge{}", count, count == 1 ? "" : "s");
}

std::string shown_reasons(const std::vector<std::string>& reasons) {
  std::string out;
  for (size_t i = 0; i < std::min(reasons.size(), kChangesShown); ++i) {
    out += fmt::format("      {}\n", reasons[i]);
  }
  if (reasons.size() > kChangesShown) {
    out += fmt::format("      and {} more\n", reasons.size() - kChangesShown);
  }
  return out;
}

std::vector<std::string> reasons_of(const json& row) {
  auto out = row["reasons"].get<std::vector<std::string>>();
  if (row.contains("nearest") && row["nearest"].is_object()) {
    const json& nearest = row["nearest"];
    const auto changes = nearest["changes"].get<std::vector<std::string>>();
    out.push_back(fmt::format("most similar: {}{}", nearest["output"].get<std::string>(),
                              changes.empty() ? ", under another name" : ""));
    out.insert(out.end(), changes.begin(), changes.end());
  }
  return out;
}

// Edges of a step with the same reasons share one entry.
std::string grouped(const json& rows, const std::string& verb) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const json& row : rows) {
    const std::string reasons =
        row["step"].get<std::string>() + "\n" + shown_reasons(reasons_of(row));
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == reasons; });
    if (group == groups.end()) group = groups.insert(groups.end(), {reasons, {}});
    group->second.push_back(row["subject"].get<std::string>());
  }
  std::string out;
  for (const auto& [reasons, subjects] : groups) {
    const size_t line = reasons.find('\n');
    out += fmt::format("{} {} {}{}\n{}", verb, reasons.substr(0, line), subjects.front(),
                       subjects.size() > 1 ? fmt::format(" and {} more", subjects.size() - 1) : "",
                       reasons.substr(line + 1));
  }
  return out;
}

std::string origin_text(const json& origin) {
  const std::string where = origin.value("built_on", "");
  const bool is_own = !origin["build"].is_null();
  return fmt::format("{} {}{}, {}",
                     is_own ? fmt::format("build {} ({}),", origin["build"].get<int64_t>(),
                                          origin["targets"].get<std::string>().empty()
                                              ? origin["campaign"].get<std::string>()
                                              : origin["targets"].get<std::string>())
                            : "elsewhere,",
                     origin["built_at"].get<std::string>(), where.empty() ? "" : " on " + where,
                     duration(origin["seconds"].get<double>()));
}

}  // namespace

std::string pending_text(const json& rows) {
  json running = json::array(), restored = json::array();
  int possible = 0;
  for (const json& row : rows) {
    const auto need = row["need"].get<std::string>();
    if (need == "run") running.push_back(row);
    if (need == "maybe") ++possible;
    if (need == "restore") {
      restored.push_back(row);
      restored.back()["reasons"] = {"stored: " + (row["origin"].is_object()
                                                      ? origin_text(row["origin"])
                                                      : std::string("here"))};
    }
  }
  std::string out = grouped(running, "will run");
  out += grouped(restored, "will restore");
  if (possible > 0) {
    out += fmt::format("may run: {} that depend on those, if their inputs change\n",
                       edges_text(possible));
  }
  return out;
}

std::string stored_text(const json& rows, bool is_all) {
  int edges = 0;
  for (const json& row : rows) edges += row["edges"].get<int>();
  if (!is_all) return fmt::format("up to date: {}\n", edges_text(edges));
  std::vector<std::vector<std::string>> lines;
  for (const json& row : rows) {
    lines.push_back({row["step"].get<std::string>(), std::to_string(row["edges"].get<int>()),
                     origin_text(row)});
  }
  std::string out = table(lines, "  ");
  return rows.empty() ? "" : "stored, with the build that first ran them:\n" + out;
}

// `is_all`: nothing is to be run now, so the edges of the last build are of use.
std::string last_build_text(const json& last, bool is_all) {
  if (last.is_null()) return "";
  const json& edges = last["edges"];
  return fmt::format("last build: {}, {}, {}: {} ran\n{}", last["build"].get<int64_t>(),
                     last["started"].get<std::string>(), last["outcome"].get<std::string>(),
                     edges_text(static_cast<int>(edges.size())),
                     is_all ? grouped(edges, "  ran") : "");
}

}  // namespace evolve
