#include "engine/cli/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "engine/cli/models_file.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/cli/table.h"
#include "engine/cli/text_change.h"
#include "engine/core/content.h"
#include "engine/core/plan.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

constexpr int kNearestOf = 200;      // past results that are compared with an edge without history
constexpr size_t kChangesShown = 4;  // of one edge

// Two parts, one gone and one new, with the same value: a file under another name.
void drop_renames(std::vector<KeyChange>& changes) {
  for (size_t i = 0; i < changes.size();) {
    const auto twin = std::find_if(changes.begin(), changes.end(), [&](const KeyChange& other) {
      return !changes[i].before && !other.after && other.tag == changes[i].tag &&
             other.before == changes[i].after;
    });
    if (twin == changes.end()) {
      ++i;
      continue;
    }
    const auto at = static_cast<size_t>(twin - changes.begin());
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(std::max(at, i)));
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(std::min(at, i)));
    i = 0;
  }
}

class Why {
 public:
  explicit Why(Session& session, const std::vector<NodeId>& targets)
      : session_(session),
        graph_(*session.graph),
        machine_(session.campaign.machine()),
        targets_(targets),
        lookup_(graph_, session.state->files, *session.state->memo, *session.state->ledger,
                snapshot_, {machine_, process_environment()}) {}

  Result<bool> would_run() {
    TRY_ASSIGN(auto found, look());
    return std::any_of(found.begin(), found.end(),
                       [](const Pending& one) { return one.need != Pending::Need::restore; });
  }

  // What is not up to date.
  Result<json> pending() {
    TRY_ASSIGN(auto found, look());
    json rows = json::array();
    for (const Pending& one : found) {
      TRY_ASSIGN(auto row, row_of(one));
      rows.push_back(std::move(row));
      seen_.insert(one.edge);
    }
    found_ = std::move(found);
    return rows;
  }

  // Which answers models may have to give again; empty: none. REQUIRES: pending() was called.
  Result<std::string> asked_again() {
    TRY_ASSIGN(auto asked, cli::asked_again(session_.campaign, graph_, found_, *session_.state));
    return text_of(asked);
  }

  // Where what is up to date comes from, by step and build. REQUIRES: pending() was called.
  Result<json> stored() {
    std::map<std::pair<std::string, std::string>, json> groups;
    const Plan plan(graph_, targets_);
    for (EdgeId id : plan.wanted_edges()) {
      if (graph_.edge(id).is_phony() || seen_.contains(id)) continue;
      TRY_ASSIGN(auto last, session_.state->ledger->last_record(lookup_.record_name(id)));
      if (!last) continue;
      TRY_ASSIGN(auto origin, origin_of(last->result));
      add_to_group(groups, graph_.extension(id, "step"), last->result, origin);
    }
    json rows = json::array();
    for (auto& [name, row] : groups) rows.push_back(std::move(row));
    return rows;
  }

  // What the last build ran of the target, and why; null where there was none.
  Result<json> last_build() {
    auto& ledger = *session_.state->ledger;
    TRY_ASSIGN(auto builds, ledger.builds(session_.campaign.name));
    if (builds.empty()) return json();
    const auto& last = builds.front();
    TRY_ASSIGN(auto edges, ledger.edges_of_build(last.id));
    const Plan plan(graph_, targets_);
    const std::set<EdgeId> wanted(plan.wanted_edges().begin(), plan.wanted_edges().end());
    // In the manifest's order, what it does not have any more last: that of their ends is chance.
    std::vector<std::pair<std::optional<EdgeId>, const EdgeRecord*>> ended;
    for (const EdgeRecord& edge : edges) {
      if (edge.outcome == Outcome::hit || edge.outcome == Outcome::joined) continue;
      const auto node = graph_.find_node(machine_path(edge.output, machine_));
      const auto id = node ? graph_.node(*node).made_by : std::nullopt;
      if (!id || wanted.contains(*id)) ended.emplace_back(id, &edge);
    }
    std::stable_sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
      return a.first && (!b.first || *a.first < *b.first);
    });
    json rows = json::array();
    for (const auto& [id, record] : ended) {
      const EdgeRecord& edge = *record;
      TRY_ASSIGN(auto reasons, past_reasons(edge, id, last.id));
      rows.push_back({{"output", edge.output},
                      {"step", edge.step},
                      {"subject", id ? graph_.extension(*id, "subject") : edge.output},
                      {"outcome", outcome_name(edge.outcome)},
                      {"seconds", edge.result.seconds},
                      {"reasons", reasons}});
    }
    return json{{"build", last.id},
                {"started", last.started},
                {"targets", last.targets},
                {"outcome", last.outcome.empty() ? "did not end" : last.outcome},
                {"edges", rows}};
  }

 private:
  Result<std::vector<Pending>> look() {
    TRY_ASSIGN(auto answered, models_keys(session_.campaign, *session_.state));
    lookup_.confirm(std::move(answered));
    return scan(graph_, targets_, lookup_, session_.state->files, *session_.state->blobs);
  }

  Result<json> row_of(const Pending& one) {
    static const std::map<Pending::Need, const char*> kNeeds = {
        {Pending::Need::run, "run"},
        {Pending::Need::maybe, "maybe"},
        {Pending::Need::restore, "restore"}};
    json row = {{"output", graph_.path(graph_.edge(one.edge).outputs.front())},
                {"step", graph_.extension(one.edge, "step")},
                {"subject", graph_.extension(one.edge, "subject")},
                {"need", kNeeds.at(one.need)},
                {"reasons", one.reasons}};
    if (one.need == Pending::Need::restore) {
      auto hit = lookup_.take_hit(one.edge);
      auto origin = hit ? origin_of(hit->result) : Result<json>(json());
      if (!origin) return origin;
      row["origin"] = *std::move(origin);
    }
    if (one.need != Pending::Need::run) return row;
    TRY_ASSIGN(auto last, session_.state->ledger->last_record(lookup_.record_name(one.edge)));
    TRY_ASSIGN(auto finding, lookup_.find(one.edge));
    const auto& now = (finding.full ? *finding.full : finding.declared).parts();
    if (!last) {
      auto nearest = nearest_of(one.edge, now);
      if (!nearest) return nearest;
      row["nearest"] = *std::move(nearest);
    } else if (last->outcome == Outcome::failed) {
      row["reasons"] = {fmt::format("failed last time: {}", last->reason)};
    } else if (auto texts = describe(one.edge, changes_of(last->result.parts, now));
               !texts.empty() && one.dirty_inputs.empty()) {
      row["reasons"] = texts;
    }
    return row;
  }

  // What it will discover anew is not known before it runs.
  static std::vector<KeyChange> changes_of(const std::vector<KeyPart>& before,
                                           const std::vector<KeyPart>& after) {
    auto out = changes_between(before, after);
    const bool knows_discovered = std::any_of(
        after.begin(), after.end(), [](const KeyPart& part) { return part.tag == "discovered"; });
    if (!knows_discovered) {
      std::erase_if(out, [](const KeyChange& change) { return change.tag == "discovered"; });
    }
    return out;
  }

  // The past result of the same step whose key differs least; null: there is none.
  Result<json> nearest_of(EdgeId id, const std::vector<KeyPart>& now) {
    TRY_ASSIGN(auto past,
               session_.state->ledger->last_records_of(graph_.extension(id, "step"), kNearestOf));
    const EdgeRecord* best = nullptr;
    std::vector<KeyChange> least;
    for (const EdgeRecord& record : past) {
      auto changes = changes_of(record.result.parts, now);
      std::erase_if(changes, [](const KeyChange& change) { return change.tag == "output"; });
      drop_renames(changes);
      if (best != nullptr && changes.size() >= least.size()) continue;
      best = &record;
      least = std::move(changes);
    }
    if (best == nullptr) return json();
    return json{{"output", best->output}, {"changes", describe(id, least)}};
  }

  // Where a result was first computed, and what it cost.
  Result<json> origin_of(const ActionResult& result) {
    TRY_ASSIGN(auto build, session_.state->ledger->build_that_ran(result.key));
    json out = {{"built_at", result.built_at},
                {"built_on", result.built_on},
                {"seconds", result.seconds},
                {"paid_by", result.paid_by},
                {"build", nullptr}};
    if (build) {
      out["build"] = build->id;
      out["campaign"] = build->campaign;
      out["targets"] = build->targets;
    }
    return out;
  }

  static void add_to_group(std::map<std::pair<std::string, std::string>, json>& groups,
                           const std::string& step, const ActionResult& result,
                           const json& origin) {
    // Those that came from elsewhere are told apart by where.
    const std::string place = origin["build"].is_null()
                                  ? "~" + result.built_on
                                  : fmt::format("{:09}", origin["build"].get<int64_t>());
    auto [group, is_new] = groups.try_emplace({place, step}, origin);
    json& row = group->second;
    if (is_new) {
      row["step"] = step;
      row["edges"] = 1;
      return;
    }
    row["edges"] = row["edges"].get<int>() + 1;
    row["seconds"] = row["seconds"].get<double>() + result.seconds;
    row.erase("paid_by");
    if (result.built_at < row["built_at"].get<std::string>()) row["built_at"] = result.built_at;
  }

  Result<std::vector<std::string>> past_reasons(const EdgeRecord& edge, std::optional<EdgeId> id,
                                                int64_t build) {
    std::vector<std::string> recorded = {edge.reason};
    TRY_ASSIGN(auto before, session_.state->ledger->record_before(edge.output, build));
    if (!before || !id || edge.outcome == Outcome::failed) return recorded;
    auto texts = describe(*id, changes_between(before->result.parts, edge.result.parts));
    return texts.empty() ? recorded : texts;
  }

  std::vector<std::string> describe(EdgeId id, std::vector<KeyChange> changes) {
    std::vector<std::string> out;
    for (KeyChange& change : changes) {
      change.name = lookup_.with_paths(id, std::move(change.name));
      const auto lines = lines_of(change);
      out.push_back(!lines.empty() ? fmt::format("{}: {}", label_of(change), text_of(lines))
                                   : lookup_.with_paths(id, text_of(change)));
    }
    return out;
  }

  // Of an input, both of whose texts are still there.
  std::vector<LineChange> lines_of(const KeyChange& change) {
    const bool is_file = change.tag == "input" || change.tag == "discovered";
    if (!is_file || !change.before || !change.after) return {};
    auto before = text_of_digest(*change.before, "");
    auto after = text_of_digest(*change.after, machine_path(change.name, machine_));
    return before && after ? line_changes(*before, *after) : std::vector<LineChange>{};
  }

  std::optional<std::string> text_of_digest(const std::string& hex, const std::string& path) {
    const auto digest = Digest::from_hex(hex);
    if (!digest) return std::nullopt;
    for (const std::string& one : {session_.state->blobs->path_of(*digest), path}) {
      auto text = one.empty() ? Result<std::string>(failed("")) : session_.state->files.read(one);
      if (text && content_digest(*text) == *digest) return *std::move(text);
    }
    return std::nullopt;
  }

  Session& session_;
  Graph& graph_;
  std::vector<MachineBinding> machine_;
  const std::vector<NodeId>& targets_;
  Snapshot snapshot_;
  Lookup lookup_;
  std::set<EdgeId> seen_;
  std::vector<Pending> found_;
};

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
    out.push_back(fmt::format("nearest: {}{}", nearest["output"].get<std::string>(),
                              changes.empty() ? ", by another name" : ""));
    out.insert(out.end(), changes.begin(), changes.end());
  }
  return out;
}

// Steps with many edges for the same reasons are told of once.
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
  out += grouped(restored, "will put back");
  if (possible > 0) {
    out +=
        fmt::format("may run: {} behind those, if what those give is new\n", edges_text(possible));
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
  return rows.empty() ? "" : "stored, with the build that first ran it:\n" + out;
}

// What it ran is of use where nothing is to be run.
std::string last_build_text(const json& last, bool is_all) {
  if (last.is_null()) return "";
  const json& edges = last["edges"];
  return fmt::format("last build: {}, {}, {}: {} ran\n{}", last["build"].get<int64_t>(),
                     last["started"].get<std::string>(), last["outcome"].get<std::string>(),
                     edges_text(static_cast<int>(edges.size())),
                     is_all ? grouped(edges, "  ran") : "");
}

}  // namespace

Result<bool> would_run(Session& session, const std::vector<NodeId>& targets) {
  return Why(session, targets).would_run();
}

Status tell_pending(const CommonOptions& common, Session& session,
                    const std::vector<NodeId>& targets) {
  Why why(session, targets);
  TRY_ASSIGN(auto rows, why.pending());
  TRY_ASSIGN(auto asked, why.asked_again());
  if (!asked.empty()) print_warning(asked, common.color);
  print_result(common, rows, rows.empty() ? "nothing to do\n" : pending_text(rows));
  return {};
}

Status run_why(const CommonOptions& common, const std::string& target) {
  TRY_ASSIGN(auto session, open_session(common));
  auto targets =
      find_targets(session, target.empty() ? std::vector<std::string>{} : std::vector{target});
  if (!targets) return std::move(targets).error();
  Why why(session, *targets);
  TRY_ASSIGN(auto pending, why.pending());
  TRY_ASSIGN(auto stored, why.stored());
  TRY_ASSIGN(auto last, why.last_build());
  print_result(common,
               {{"target", target}, {"pending", pending}, {"stored", stored}, {"last_build", last}},
               (pending.empty() ? "nothing to do\n" : pending_text(pending)) +
                   stored_text(stored, pending.empty()) + last_build_text(last, pending.empty()));
  return {};
}

}  // namespace evolve::cli
