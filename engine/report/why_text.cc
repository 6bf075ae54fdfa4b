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

std::vector<std::string> reasons_of(const PendingEdge& edge) {
  std::vector<std::string> out = edge.reasons;
  if (edge.nearest) {
    const auto& [output, changes] = *edge.nearest;
    out.push_back(
        fmt::format("most similar: {}{}", output, changes.empty() ? ", under another name" : ""));
    out.insert(out.end(), changes.begin(), changes.end());
  }
  return out;
}

// An edge and the reasons to show with it.
struct ReasonedEdge {
  std::string step;
  std::string subject;
  std::vector<std::string> reasons;
};

// Returns the text of the edges, in which edges of a step with the same reasons share one entry.
std::string grouped(const std::vector<ReasonedEdge>& edges, const std::string& verb) {
  struct Group {
    std::string step;
    std::string reasons;
    std::vector<std::string> subjects = {};
  };
  std::vector<Group> groups;
  for (const ReasonedEdge& edge : edges) {
    const std::string reasons = shown_reasons(edge.reasons);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.step == edge.step && other.reasons == reasons;
    });
    if (group == groups.end()) {
      groups.push_back({.step = edge.step, .reasons = reasons});
      group = std::prev(groups.end());
    }
    group->subjects.push_back(edge.subject);
  }
  std::string out;
  for (const Group& group : groups) {
    const size_t more = group.subjects.size() - 1;
    out += fmt::format("{} {} {}{}\n{}", verb, group.step, group.subjects.front(),
                       more > 0 ? fmt::format(" and {} more", more) : "", group.reasons);
  }
  return out;
}

std::string origin_text(const ResultOrigin& origin) {
  std::string build = "elsewhere,";
  if (origin.build) {
    const auto& [id, campaign, targets] = *origin.build;
    build = fmt::format("build {} ({}),", id, targets.empty() ? campaign : targets);
  }
  return fmt::format("{} {}{}, {}", build, origin.built_at,
                     origin.built_on.empty() ? "" : " on " + origin.built_on,
                     duration(origin.seconds));
}

std::string stored_text(const std::vector<StoredEdges>& stored, bool is_all) {
  if (!is_all) {
    int edges = 0;
    for (const StoredEdges& group : stored) edges += group.count;
    return fmt::format("up to date: {}\n", edges_text(edges));
  }
  std::vector<std::vector<std::string>> lines;
  lines.reserve(stored.size());
  for (const StoredEdges& group : stored)
    lines.push_back({group.step, std::to_string(group.count), origin_text(group.origin)});
  return lines.empty() ? "" : "stored, with the build that first ran them:\n" + table(lines, "  ");
}

std::string last_build_text(const LastBuild& last, bool is_all) {
  std::string out = fmt::format("last build: {}, {}, {}: {} ran\n", last.id, last.started,
                                last.outcome, edges_text(static_cast<int>(last.edges.size())));
  if (!is_all) return out;
  std::vector<ReasonedEdge> edges;
  edges.reserve(last.edges.size());
  for (const LastBuild::Edge& edge : last.edges)
    edges.push_back({edge.step, edge.subject, edge.reasons});
  return out + grouped(edges, "  ran");
}

const char* need_name(Pending::Need need) {
  switch (need) {
    case Pending::Need::run: return "run";
    case Pending::Need::maybe: return "maybe";
    case Pending::Need::restore: break;
  }
  return "restore";
}

json origin_json(const ResultOrigin& origin) {
  json out = {{"built_at", origin.built_at},
              {"built_on", origin.built_on},
              {"seconds", origin.seconds},
              {"build", nullptr}};
  if (origin.build) {
    out["build"] = origin.build->id;
    out["campaign"] = origin.build->campaign;
    out["targets"] = origin.build->targets;
  }
  return out;
}

json stored_json(const StoredEdges& group) {
  json out = origin_json(group.origin);
  if (group.count == 1) out["paid_by"] = group.origin.paid_by;
  out["step"] = group.step;
  out["edges"] = group.count;
  return out;
}

json last_build_json(const LastBuild& last) {
  json edges = json::array();
  for (const LastBuild::Edge& edge : last.edges) {
    edges.push_back({{"output", edge.output},
                     {"step", edge.step},
                     {"subject", edge.subject},
                     {"outcome", outcome_name(edge.outcome)},
                     {"seconds", edge.seconds},
                     {"reasons", edge.reasons}});
  }
  return {{"build", last.id},
          {"started", last.started},
          {"targets", last.targets},
          {"outcome", last.outcome},
          {"edges", std::move(edges)}};
}

}  // namespace

std::string pending_text(const std::vector<PendingEdge>& edges) {
  std::vector<ReasonedEdge> running, restored;
  int possible = 0;
  for (const PendingEdge& edge : edges) {
    switch (edge.need) {
      case Pending::Need::run:
        running.push_back({edge.step, edge.subject, reasons_of(edge)});
        break;
      case Pending::Need::maybe: ++possible; break;
      case Pending::Need::restore:
        restored.push_back({edge.step,
                            edge.subject,
                            {"stored: " + (edge.origin ? origin_text(*edge.origin) : "here")}});
        break;
    }
  }
  std::string out = grouped(running, "will run");
  out += grouped(restored, "will restore");
  if (possible > 0) {
    out += fmt::format("may run: {} that depend{} on those, if {} inputs change\n",
                       edges_text(possible), possible == 1 ? "s" : "",
                       possible == 1 ? "its" : "their");
  }
  return out;
}

std::string explanation_text(const Explanation& explanation) {
  const bool is_idle = explanation.pending.empty();
  return (is_idle ? "nothing to do\n" : pending_text(explanation.pending)) +
         stored_text(explanation.stored, is_idle) +
         (explanation.last_build ? last_build_text(*explanation.last_build, is_idle) : "");
}

json pending_json(const std::vector<PendingEdge>& edges) {
  json out = json::array();
  for (const PendingEdge& edge : edges) {
    json row = {{"output", edge.output},
                {"step", edge.step},
                {"subject", edge.subject},
                {"need", need_name(edge.need)},
                {"reasons", edge.reasons}};
    if (edge.need == Pending::Need::restore) {
      row["origin"] = edge.origin ? origin_json(*edge.origin) : json();
      if (edge.origin) row["origin"]["paid_by"] = edge.origin->paid_by;
    }
    if (edge.nearest)
      row["nearest"] = {{"output", edge.nearest->output}, {"changes", edge.nearest->changes}};
    out.push_back(std::move(row));
  }
  return out;
}

json explanation_json(const Explanation& explanation) {
  json stored = json::array();
  for (const StoredEdges& group : explanation.stored) stored.push_back(stored_json(group));
  return {
      {"pending", pending_json(explanation.pending)},
      {"stored", std::move(stored)},
      {"last_build", explanation.last_build ? last_build_json(*explanation.last_build) : json()}};
}

}  // namespace evolve
