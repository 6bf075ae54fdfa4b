#include "engine/app/campaign_report.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/app/results.h"
#include "engine/campaign/generator/variant_files.h"
#include "engine/core/machine_paths.h"
#include "engine/core/outside_json.h"
#include "engine/core/path.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

using nlohmann::json;

// Returns the times of the variant, the seed and the XLA baseline for each bench case.
json times_report(const Campaign& campaign, const std::string& variant) {
  json out = json::array();
  for (const std::string& name : campaign.shape.bench_cases) {
    json row = {{"case", name}};
    auto add = [&](const char* key, const std::string& of) {
      auto time = case_time(campaign, of, name);
      if (!time) return;
      row[key] = time->seconds;
      row["kind"] = to_string(time->kind);
      if (time->cheaper && of == variant) row["cheaper_seconds"] = *time->cheaper;
    };
    add("seconds", variant);
    add("seed_seconds", VariantId(0).text());
    if (!campaign.shape.files.xla.empty()) add("xla_seconds", "xla");
    out.push_back(row);
  }
  return out;
}

// Returns how a variant's outputs were compared with the reference's: in how many cases as a whole,
// in how many large cases at drawn places (and at how many), and in how many cases not at all.
json compared_report(const Campaign& campaign, const std::string& variant) {
  int whole = 0, at_places = 0, not_at_all = 0;
  int64_t places = 0;
  for (const JudgedCase& one : judged_cases(campaign.shape)) {
    const json record = read_json(fmt::format("{}/{}/{}.json", campaign.folder_of(variant),
                                              one.name, one.is_check ? "check" : "values"));
    const bool is_ok = record.is_object() && line_member(record, "verdict") == "ok";
    if (is_ok && !one.is_check) places += record.value("elements", int64_t{0});
    ++(!is_ok ? not_at_all : one.is_check ? whole : at_places);
  }
  return {
      {"whole", whole}, {"at_places", at_places}, {"places", places}, {"not_at_all", not_at_all}};
}

// Counts the verdicts in the rounds' selections: {"ok": 20, "compile out-of-memory": 2}.
std::map<std::string, int> verdicts_by_kind(const Campaign& campaign,
                                            const std::vector<search::Selection>& selections) {
  std::map<std::string, int> out;
  for (const search::Selection& selection : selections) {
    for (const search::Evaluated& variant : selection.rejected) {
      const search::Rejection& why = *variant.rejection;
      ++out[fmt::format("{} {}", plain_line(why.step), plain_line(why.kind))];
    }
    const auto rejected = static_cast<int>(selection.rejected.size());
    const auto ruled_out = static_cast<int>(selection.ruled_out.size());
    if (ruled_out > 0) out["ruled out"] += ruled_out;
    out["ok"] += campaign.shape.variants() - rejected - ruled_out;
  }
  return out;
}

// Returns the ranked variants on which a step could not be done.
std::set<VariantId> not_done(const std::vector<search::Selection>& selections) {
  std::set<VariantId> out;
  for (const search::Selection& selection : selections) {
    for (const search::Ranked& ranked : selection.ranking) {
      if (!ranked.variant.not_done.empty()) out.insert(ranked.variant.id);
    }
  }
  return out;
}

// Returns the operations that the spec allows outside of kernels, besides those that every spec
// allows.
std::vector<std::string> outside_words(const Campaign& campaign) {
  std::vector<std::string> out;
  const json spec = read_json(campaign.work + "/spec.json");
  if (!spec.is_object()) return out;
  for (const json& word : spec.value("outside", json::array())) {
    if (word.is_string()) out.push_back(plain_line(word.get_ref<const std::string&>()));
  }
  return out;
}

// Returns the decision of the round's first cut on a variant; null: no decision, or the round had
// no cut.
json cut_of(const std::string& round_folder, const std::string& variant) {
  const json cut = read_json(round_folder + "/cut.json");
  if (!cut.is_object()) return nullptr;
  for (const json& one : cut.value("variants", json::array())) {
    if (line_member(one, "variant") == variant) return one;
  }
  return nullptr;
}

json steps_report(const BuildSummary& summary) {
  json out = json::object();
  for (const auto& [step, its] : summary.by_step) {
    for (const auto& [outcome, count] : its.outcomes) out[step][outcome_name(outcome)] = count;
  }
  return out;
}

// Returns a step's verdict on a case, and the step's cost; null: the step has no result yet.
Result<json> step_row(const std::string& folder, const StepReport& step,
                      const std::vector<MachineBinding>& machine, cache::SqliteLedger& ledger) {
  const std::string at = fmt::format("{}/{}/", folder, step.case_name);
  json record = read_json(at + step.file);
  if (!record.is_object()) return json();
  json row = {{"case", step.case_name},
              {"step", step.step},
              {"verdict", line_member(record, "verdict")},
              {"kind", line_member(record, "kind")},
              {"reason", line_member(record, "reason")}};
  for (const char* key :
       {"seconds", "cheaper_seconds", "ratio", "low", "high", "comparison", "bottleneck", "outputs",
        "evidence", "flops", "elements", "steps", "all_steps"}) {
    if (record.contains(key)) row[key] = record[key];
  }
  // The ledger names an edge by its first output. For the step lower, that is the device program.
  std::vector<std::string_view> names = {step.file};
  if (step.step == "lower") names = {kDeviceProgram, kOldDeviceProgram};
  std::optional<EdgeRecord> last;
  for (std::string_view name : names) {
    if (last) break;
    TRY_ASSIGN(last, ledger.last_record(symbolic_path(fmt::format("{}{}", at, name), machine)));
  }
  if (last) {
    row["paid_by"] = last->result.paid_by;
    row["ran_seconds"] = last->result.seconds;
    row["built_at"] = last->result.built_at;
  }
  return row;
}

// Parses a selection of the ledger. An error: the selection does not have the form that reports
// need.
Result<json> read_selection_of(const std::string& text) {
  auto selection = parse_outside(text);
  if (!selection) return std::move(selection).error().within("selection");
  if (auto status = search::check_selection_form(*selection); !status) return status.error();
  return selection;
}

}  // namespace

Result<nlohmann::json> build_report(const Campaign& campaign, const BuildSummary& summary,
                                    int round) {
  std::vector<search::Selection> selections;
  bool is_last_built = false;
  for (int r = 1; r <= round; ++r) {
    TRY_ASSIGN(auto selection, selection_of(campaign, r));
    is_last_built = selection.has_value();
    if (selection) selections.push_back(*std::move(selection));
  }
  json report = {{"campaign", campaign.name},
                 {"round", round},
                 {"variants", round * campaign.shape.variants()},
                 {"verdicts", verdicts_by_kind(campaign, selections)},
                 {"steps", steps_report(summary)},
                 {"ran", summary.ran},
                 {"cached", summary.cached},
                 {"failed", summary.failed},
                 {"retried", summary.retried},
                 {"not_done", not_done(selections)},
                 {"outside", outside_words(campaign)},
                 {"skipped", summary.skipped},
                 {"seconds", summary.seconds},
                 {"sandboxed", campaign.shape.is_sandboxed},
                 {"target", campaign.shape.pipeline.target->name}};
  report["first_cut"] = campaign.shape.is_cut();
  if (!is_last_built) return report;
  const search::Selection& last = selections.back();
  if (last.time_kind == TimeKind::measured) report["model"] = model_error_record(last.model);
  if (last.survivors.empty()) return report;
  const std::string best = last.survivors.front().variant.id.text();
  report["best"] = best_record(last);
  report["times"] = times_report(campaign, best);
  report["compared"] = compared_report(campaign, best);
  return report;
}

Result<json> variant_report(const Campaign& campaign, const std::string& variant,
                            cache::SqliteLedger& ledger) {
  std::string folder = campaign.folder_of(variant);
  json origin = read_json(folder + "/variant.json");
  json report = {{"variant", variant},
                 {"folder", shown_path(folder)},
                 {"origin", origin},
                 {"steps", json::array()}};
  auto machine = campaign.machine();
  for (const JudgedCase& one : judged_cases(campaign.shape)) {
    for (const StepReport& step : judging_reports({one})) {
      TRY_ASSIGN(auto row, step_row(folder, step, machine, ledger));
      if (!row.is_null()) report["steps"].push_back(std::move(row));
    }
  }
  report["times"] = times_report(campaign, variant);
  if (campaign.shape.is_cut()) {
    json cut = cut_of(folder_of(folder), variant);
    if (!cut.is_null()) report["cut"] = std::move(cut);
  }
  return report;
}

Result<json> rounds_report(const std::string& campaign, cache::RoundTable& log) {
  TRY_ASSIGN(auto rounds, log.selections(campaign));
  json out = json::array();
  for (const auto& round : rounds) {
    TRY_ASSIGN(auto record, log.last_record(campaign, round.number));
    auto selection = read_selection_of(round.selection);
    out.push_back({{"round", round.number},
                   {"recorded", round.recorded},
                   {"record", record ? json(record->id) : json()},
                   {"selection", selection ? *selection : json::object()}});
    if (!selection) out.back()["problem"] = selection.error().message;
    if (!record) continue;
    TRY_ASSIGN(auto is_imported, log.is_imported(record->id));
    if (is_imported) out.back()["imported"] = true;
  }
  return out;
}

}  // namespace evolve
