#include "engine/app/up_to_date.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "engine/app/recording.h"
#include "engine/app/snapshots.h"
#include "engine/build/plan.h"
#include "engine/core/json_text.h"
#include "engine/core/key.h"
#include "engine/core/machine_paths.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/words.h"

namespace evolve {

namespace {

using nlohmann::json;

// Returns the report with every edge as a hit, because the next build finds all edges as this build
// left them.
json all_cached(json report) {
  int64_t edges = 0;
  for (auto& [step, outcomes] : report["steps"].items()) {
    int64_t count = 0;
    for (const auto& [outcome, its] : outcomes.items()) count += its.get<int64_t>();
    outcomes = {{outcome_name(Outcome::hit), count}};
    edges += count;
  }
  report["ran"] = 0;
  report["retried"] = 0;
  report["cached"] = edges;
  return report;
}

// Returns the names that the targets' edges declare in `environment = NAME …`.
std::vector<std::string> declared_names(const Graph& graph, const std::vector<NodeId>& targets) {
  std::set<std::string> names;
  const BuildPlan plan(graph, targets);
  for (EdgeId id : plan.wanted_edges()) {
    for (std::string& name : words_in(graph.extension(id, "environment")))
      names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace

void UpToDate::look_at_sources() {
  std::vector<std::string> paths = opened_.campaign.sources();
  paths.emplace_back("/proc/self/exe");
  for (const std::string& path : paths) {
    // The build writes the rounds' manifest again, so its present state does not count.
    if (path == opened_.campaign.rounds()) continue;
    auto state = state_.files.look(path, nullptr);
    if (!state) {
      fault_ = state.error().message;
      return;
    }
    sources_.push_back({path, *state});
  }
}

std::string UpToDate::asked(const std::vector<std::string>& environment) const {
  KeyWriter key;
  key.add("engine", "", EVOLVE_VERSION);
  key.add("shape", "", digest_of(opened_.campaign.shape).hex());
  key.add("toolchain", "", opened_.toolchain.versions);
  key.add("device_kind", "", opened_.campaign.device_kind);
  for (const std::string& target : targets_) key.add("target", "", target);
  for (const MachineBinding& binding : opened_.campaign.machine()) {
    key.add("machine", binding.name, binding.value);
  }
  const auto variables = process_environment();
  for (const std::string& name : environment) {
    auto variable = variables.find(name);
    key.add("environment", name, variable == variables.end() ? "" : variable->second);
  }
  return key.key().hex();
}

Result<std::string> UpToDate::text_digest(int64_t record) {
  TRY_ASSIGN(auto stored, state_.ledger->rounds().find_record(record));
  return stored ? digest_of(stored->text).hex() : std::string();
}

Result<bool> UpToDate::is_recorded(const json& about) {
  TRY_ASSIGN(auto digest, text_digest(about.value("record", int64_t{0})));
  return !digest.empty() && digest == about.value("record_digest", "");
}

Result<std::optional<json>> UpToDate::report(const CampaignFlags& options) {
  const double start = state_.clock.monotonic_seconds();
  const std::optional<json> unknown;
  std::string warning;
  auto note = load_note(state_, opened_.campaign.manifest(), warning);
  if (!warning.empty()) options.warn(warning);
  if (!note) return unknown;
  const json about = json_or_null(note->about);
  if (!about.is_object() ||
      about.value("asked", "") != asked(about.value("environment", std::vector<std::string>{}))) {
    return unknown;
  }
  TRY_ASSIGN(auto recorded, is_recorded(about));
  if (!recorded) return unknown;
  bool is_changed = false;
  auto holds = still_holds(*note, state_.files, is_changed);
  // The reason does not matter here: the build that looks at each edge explains it better.
  if (!holds || !*holds) return unknown;
  json report = about["report"];
  std::map<std::string, cache::Tally> tallies;
  for (const auto& [step, outcomes] : report["steps"].items()) {
    tallies[step].cached = outcomes.value(outcome_name(Outcome::hit), int64_t{0});
    tallies[step].saved_seconds = about["saved"].value(step, 0.0);
  }
  TRY(begin_build(state_, opened_.campaign.name, targets_, opened_.toolchain.versions));
  TRY(state_.ledger->end_build("done", tallies));
  if (is_changed) {
    TRY(save_note(state_, opened_.campaign.manifest(), *note));
  }
  report["seconds"] = state_.clock.monotonic_seconds() - start;
  return std::optional(std::move(report));
}

Status UpToDate::note(const std::vector<NodeId>& targets, Lookup& lookup,
                      const BuildSummary& summary, const json& report, int64_t record) {
  if (!fault_.empty() || record == 0) return {};
  TRY_ASSIGN(auto note, note_of(*opened_.graph, targets, lookup));
  if (!note) return {};
  BuildNote sources = {"", sources_};
  bool is_changed = false;
  auto hold = still_holds(sources, state_.files, is_changed);
  if (!hold || !*hold) return hold ? Status{} : std::move(hold).error();
  for (const std::string& path : {opened_.campaign.rounds(), opened_.campaign.manifest()}) {
    TRY_ASSIGN(auto state, state_.files.look(path, nullptr));
    sources.files.push_back({path, state});
  }
  note->files.insert(note->files.end(), sources.files.begin(), sources.files.end());
  TRY_ASSIGN(auto digest, text_digest(record));
  const auto environment = declared_names(*opened_.graph, targets);
  json saved = json::object();
  for (const auto& [step, its] : summary.by_step) {
    saved[step] = its.spent_seconds + its.saved_seconds;
  }
  json about = {{"asked", asked(environment)}, {"environment", environment},   {"record", record},
                {"record_digest", digest},     {"report", all_cached(report)}, {"saved", saved}};
  note->about = json_line(about);
  return save_note(state_, opened_.campaign.manifest(), *note);
}

}  // namespace evolve
