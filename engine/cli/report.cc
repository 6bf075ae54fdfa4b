#include "engine/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/cli/shown_path.h"
#include "engine/cli/table.h"
#include "engine/core/did_you_mean.h"
#include "engine/core/outside_json.h"
#include "engine/core/plain_text.h"
#include "engine/search/selection_record.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

// For a line: others wrote most of what is told.
std::string text_of(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? plain_line(it->get_ref<const std::string&>())
                                               : std::string();
}

// "BLOCK_M=512 BLOCK_N=1024"
std::string parameters_text(const json& parameters) {
  std::string out;
  if (!parameters.is_object()) return out;
  for (const auto& [name, value] : parameters.items()) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", plain_line(name), value.dump());
  }
  return out;
}

// The times of the variant, the seed and the XLA baseline for each bench case.
json times_report(const Campaign& campaign, const std::string& variant) {
  json out = json::array();
  for (const std::string& name : campaign.shape.bench_cases) {
    json row = {{"case", name}};
    auto add = [&](const char* key, const std::string& of) {
      auto time = case_time(campaign, of, name);
      if (!time) return;
      row[key] = time->seconds;
      row["kind"] = time->kind;
      if (time->cheaper && of == variant) row["cheaper_seconds"] = *time->cheaper;
    };
    add("seconds", variant);
    add("seed_seconds", variant_id(0));
    if (!campaign.shape.xla.empty()) add("xla_seconds", "xla");
    out.push_back(row);
  }
  return out;
}

// How a variant's outputs were compared with the reference's: whole in so many cases, at drawn
// places of so many large ones, and of so many not at all.
json compared_report(const Campaign& campaign, const std::string& variant) {
  int whole = 0, at_places = 0, not_at_all = 0;
  int64_t places = 0;
  for (const JudgedCase& one : judged_cases(campaign.shape)) {
    const json record = read_json(fmt::format("{}/{}/{}.json", campaign.folder_of(variant),
                                              one.name, one.is_check ? "check" : "values"));
    const bool is_ok = record.is_object() && text_of(record, "verdict") == "ok";
    if (is_ok && !one.is_check) places += record.value("elements", int64_t{0});
    ++(!is_ok ? not_at_all : one.is_check ? whole : at_places);
  }
  return {
      {"whole", whole}, {"at_places", at_places}, {"places", places}, {"not_at_all", not_at_all}};
}

std::string compared_text(const json& compared) {
  const int whole = compared["whole"].get<int>();
  std::string out = fmt::format("        compared with the reference: {} {} as a whole", whole,
                                whole == 1 ? "case" : "cases");
  if (const int count = compared["at_places"].get<int>(); count > 0) {
    out += fmt::format(", {} large {} at {} places", count, count == 1 ? "one" : "ones",
                       compared["places"].get<int64_t>());
  }
  if (const int count = compared["not_at_all"].get<int>(); count > 0)
    out += fmt::format(", {} not at all", count);
  return out + "\n";
}

std::string ratio_text(const json& row, const char* key) {
  if (!row.contains(key)) return "-";
  double other = row[key].get<double>();
  std::string out = duration(other);
  if (row.contains("seconds"))
    out += fmt::format(" ({:.2f}x)", other / row["seconds"].get<double>());
  return out;
}

// ", from 3.1 us as the data has it": of a kernel whose control flow hangs on data.
std::string cheaper_text(const json& row) {
  if (!row.contains("cheaper_seconds")) return "";
  return fmt::format(", from {} as the data has it",
                     duration(row["cheaper_seconds"].get<double>()));
}

std::string times_table(const json& times, const std::string& variant) {
  std::vector<std::vector<std::string>> rows = {{"case", variant, "seed", "XLA", ""}};
  for (const json& row : times) {
    rows.push_back({text_of(row, "case"),
                    row.contains("seconds") ? duration(row["seconds"].get<double>()) : "-",
                    ratio_text(row, "seed_seconds"), ratio_text(row, "xla_seconds"),
                    text_of(row, "kind") + cheaper_text(row)});
  }
  return table(rows, "  ");
}

// Verdicts of the campaign's variants up to a round: {"ok": 20, "compile out-of-memory": 2}.
std::map<std::string, int> verdicts_by_kind(const Campaign& campaign,
                                            const std::vector<json>& selections) {
  std::map<std::string, int> out;
  for (const json& selection : selections) {
    if (!selection.is_object()) continue;  // the build did not come so far
    int rejected = 0;
    for (const json& row : selection.value("rejected", json::array())) {
      ++rejected;
      ++out[fmt::format("{} {}", text_of(row, "step"), text_of(row, "kind"))];
    }
    const auto ruled_out = static_cast<int>(selection.value("ruled_out", json::array()).size());
    if (ruled_out > 0) out["ruled out"] += ruled_out;
    out["ok"] += campaign.shape.variants - rejected - ruled_out;
  }
  return out;
}

// The variants in contention that a step could not be done on.
std::set<std::string> not_done(const std::vector<json>& selections) {
  std::set<std::string> out;
  for (const json& selection : selections) {
    if (!selection.is_object()) continue;
    for (const json& row : selection.value("ranking", json::array())) {
      if (row.contains("not_done")) out.insert(text_of(row, "variant"));
    }
  }
  return out;
}

// What the spec allows outside of kernels beside what all may do there.
std::vector<std::string> outside_words(const Campaign& campaign) {
  std::vector<std::string> out;
  const json spec = read_json(campaign.work + "/spec.json");
  if (!spec.is_object()) return out;
  for (const json& word : spec.value("outside", json::array())) {
    if (word.is_string()) out.push_back(plain_line(word.get_ref<const std::string&>()));
  }
  return out;
}

// How well the model did beside measured times; empty where it was beside none.
std::string model_text(const json& model) {
  const auto compared = model.value("compared", 0);
  if (compared == 0) return {};
  const double percent = 100 * std::expm1(model.value("error", 0.0));
  std::string out = fmt::format("the model was off by {:.{}f} % over {} variants", percent,
                                percent < 10 ? 1 : 0, compared);
  const auto count = [&](const char* key) { return model.value(key, 0); };
  if (count("ruled_out") + count("spot_checks") > 0) {
    out += fmt::format(", ruled out {}; {} of {} spot checks survived", count("ruled_out"),
                       count("wrong"), count("spot_checks"));
  }
  return out;
}

// What the first cut of its round said of a variant; null where there was none.
json cut_of(const std::string& round_folder, const std::string& variant) {
  const json cut = read_json(round_folder + "/cut.json");
  if (!cut.is_object()) return nullptr;
  for (const json& one : cut.value("variants", json::array())) {
    if (text_of(one, "variant") == variant) return one;
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

}  // namespace

json read_json(const std::string& path) {
  auto text = world::read_file(path);
  if (!text) return nullptr;
  return json_or_null(*text);
}

void print_result(const CommonOptions& common, const json& report, const std::string& text) {
  print_out(common.json ? report.dump(2) + "\n" : text);
}

std::string size_text(int64_t bytes) {
  auto size = static_cast<double>(bytes);
  for (const char* unit : {"B", "kB", "MB", "GB"}) {
    if (size < 1000) return fmt::format("{:.{}f} {}", size, unit[0] == 'B' ? 0 : 1, unit);
    size /= 1000;
  }
  return fmt::format("{:.1f} TB", size);
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  auto whole = std::lround(seconds);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::optional<CaseTime> case_time(const Campaign& campaign, const std::string& variant,
                                  const std::string& case_name) {
  json time = read_json(fmt::format("{}/{}/time.json", campaign.folder_of(variant), case_name));
  if (!time.is_object() || text_of(time, "verdict") != "ok" || !time.contains("seconds")) {
    return std::nullopt;
  }
  CaseTime out{text_of(time, "kind"), time["seconds"].get<double>(), std::nullopt};
  if (time.contains("cheaper_seconds")) out.cheaper = time["cheaper_seconds"].get<double>();
  return out;
}

json selection_of(const Campaign& campaign, int round) {
  return read_json(fmt::format("{}/round-{}/selection.json", campaign.work, round));
}

Result<search::History> history_of(const Campaign& campaign, int round) {
  const std::string path = fmt::format("{}/round-{}/history.jsonl", campaign.work, round);
  TRY_ASSIGN(auto text, world::read_file(path));
  auto history = search::read_history(text);
  if (!history) return std::move(history).error().within(path);
  return history;
}

Result<std::string> built_folder(const Campaign& campaign, const std::string& variant) {
  std::string folder = campaign.folder_of(variant);
  if (folder.empty()) {
    std::vector<std::string> known = {"xla"};
    for (int number = 0; number <= campaign.shape.rounds * campaign.shape.variants; ++number) {
      known.push_back(variant_id(number));
    }
    auto near = nearest(variant, known);
    return bad_input(fmt::format("unknown variant '{}'{}", variant,
                                 near ? fmt::format(", did you mean '{}'?", *near)
                                      : fmt::format(": there are v0000 to {}", known.back())));
  }
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return bad_input(fmt::format("variant '{}' was not built yet", variant), "",
                     fmt::format("evolve build {}", variant == "xla" ? "round-0" : variant));
  }
  return folder;
}

int last_round(const Campaign& campaign) {
  int round = campaign.shape.rounds;
  std::error_code error;
  while (round > 0 && !std::filesystem::exists(
                          fmt::format("{}/round-{}/selection.json", campaign.work, round), error)) {
    --round;
  }
  return round;
}

json build_report(const Campaign& campaign, const BuildSummary& summary, int round) {
  std::vector<json> selections;
  for (int r = 1; r <= round; ++r) selections.push_back(selection_of(campaign, r));
  json report = {{"campaign", campaign.name},
                 {"round", round},
                 {"variants", round * campaign.shape.variants},
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
                 {"target", campaign.shape.target}};
  const json selection = selections.empty() ? json() : selections.back();
  if (selection.is_object() && selection.contains("model")) report["model"] = selection["model"];
  report["first_cut"] = campaign.shape.is_measured && campaign.shape.timing.first_cut;
  if (selection.is_object() && selection.contains("best") && selection["best"].is_object()) {
    report["best"] = selection["best"];
    report["times"] = times_report(campaign, text_of(selection["best"], "variant"));
    report["compared"] = compared_report(campaign, text_of(selection["best"], "variant"));
  }
  return report;
}

std::string build_text(const json& report) {
  std::string out =
      fmt::format("evolve: {} edges: {} ran, {} cached, {} failed in {}\n",
                  report["ran"].get<int>() + report["cached"].get<int>() +
                      report["failed"].get<int>() + report["skipped"].get<int>(),
                  report["ran"].get<int>(), report["cached"].get<int>(),
                  report["failed"].get<int>(), duration(report["seconds"].get<double>()));
  if (const int retried = report["retried"].get<int>(); retried > 0) {
    out += fmt::format("        {} commands failed and were run again\n", retried);
  }
  if (const json variants = report.value("not_done", json::array()); !variants.empty()) {
    const std::string first = variants.front().get<std::string>();
    out += fmt::format(
        "        warning: {} variants cannot survive, because a step could not be done on them: "
        "evolve show {}\n",
        variants.size(), first);
  }
  if (const auto words = report.value("outside", std::vector<std::string>()); !words.empty()) {
    out += fmt::format("        the spec allows outside of kernels: {}\n", fmt::join(words, ", "));
  }
  if (report["round"].get<int>() == 0) return out;
  std::string verdicts;
  for (const auto& [kind, count] : report["verdicts"].items()) {
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", count.get<int>(), kind);
  }
  const int rounds = report["round"].get<int>();
  out += fmt::format("        {} {}, {} variants: {}\n", rounds, rounds == 1 ? "round" : "rounds",
                     report["variants"].get<int>(), verdicts);
  const std::string model = model_text(report.value("model", json::object()));
  if (!model.empty()) out += "        " + model + "\n";
  if (model.empty() && report.value("first_cut", false)) {
    out +=
        "        warning: time.first_cut ruled nothing out, for the model has no times: "
        "evolve show v0000\n";
  }
  if (!report.contains("best")) return out;
  std::string best = text_of(report["best"], "variant");
  out += fmt::format("        best {} on {}: {}\n", best, text_of(report, "target"),
                     parameters_text(report["best"].value("parameters", json::object())));
  return out + times_table(report["times"], best) + compared_text(report["compared"]);
}

namespace {

// What a step said of a case, and what it cost; null where it has said nothing yet.
Result<json> step_row(const std::string& folder, const StepReport& step,
                      const std::vector<MachineBinding>& machine, cache::SqliteLedger& ledger) {
  const std::string at = fmt::format("{}/{}/", folder, step.case_name);
  json record = read_json(at + step.file);
  if (!record.is_object()) return json();
  json row = {{"case", step.case_name},
              {"step", step.step},
              {"verdict", text_of(record, "verdict")},
              {"kind", text_of(record, "kind")},
              {"reason", text_of(record, "reason")}};
  for (const char* key :
       {"seconds", "cheaper_seconds", "ratio", "low", "high", "comparison", "bottleneck", "outputs",
        "evidence", "flops", "elements", "steps", "all_steps"}) {
    if (record.contains(key)) row[key] = record[key];
  }
  // The lower edge's first output is the program.
  TRY_ASSIGN(auto last, ledger.last_record(symbolic_path(
                            at + (step.step == "lower" ? "tpu.program" : step.file), machine)));
  if (last) {
    row["paid_by"] = last->result.paid_by;
    row["ran_seconds"] = last->result.seconds;
    row["built_at"] = last->result.built_at;
  }
  return row;
}

}  // namespace

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
  if (campaign.shape.is_measured && campaign.shape.timing.first_cut) {
    json cut = cut_of(folder.substr(0, folder.rfind('/')), variant);
    if (!cut.is_null()) report["cut"] = std::move(cut);
  }
  return report;
}

namespace {

// "v0003" of "$work/round-1/v0003/square/compile.json"; empty where it is the variant itself.
std::string payer(const std::string& paid_by, const std::string& variant) {
  size_t round = paid_by.find("/round-");
  if (round == std::string::npos) return {};
  size_t start = paid_by.find('/', round + 1) + 1;
  std::string id = paid_by.substr(start, paid_by.find('/', start) - start);
  return id == variant ? std::string() : id;
}

std::string step_detail(const json& row) {
  if (row.contains("comparison")) {
    return fmt::format("{}, {:.3f} of the seed's [{:.3f}, {:.3f}]: {}",
                       duration(row["seconds"].get<double>()), row["ratio"].get<double>(),
                       row["low"].get<double>(), row["high"].get<double>(),
                       text_of(row, "comparison"));
  }
  if (row.contains("seconds")) return duration(row["seconds"].get<double>()) + cheaper_text(row);
  if (row.contains("bottleneck") && row["bottleneck"].is_string()) {
    return "bound by " + row["bottleneck"].get<std::string>();
  }
  if (!text_of(row, "reason").empty()) {
    return fmt::format("{}: {}", text_of(row, "kind"), text_of(row, "reason"));
  }
  if (row.contains("outputs") && !row["outputs"].empty()) {
    return fmt::format("max error {:.2g}", row["outputs"][0].value("max_abs_error", 0.0));
  }
  if (row.contains("all_steps")) {
    return fmt::format("{} elements at places that were drawn, by {} of {} steps of the grid",
                       row.value("elements", 0), row.value("steps", 0), row.value("all_steps", 0));
  }
  return {};
}

}  // namespace

std::string variant_text(const json& report) {
  std::string variant = text_of(report, "variant");
  const json& origin = report["origin"];
  std::string out = variant;
  if (origin.is_object()) {
    std::string parents;
    for (const json& parent : origin.value("parents", json::array()))
      parents += " " + parent.get<std::string>();
    out += fmt::format(" · round {} · {}{}{}", origin.value("round", 0), text_of(origin, "mutator"),
                       parents.empty() ? "" : " of" + parents,
                       text_of(origin, "note").empty() ? "" : " · " + text_of(origin, "note"));
    out += "\n" + parameters_text(origin.value("parameters", json::object()));
    if (origin.contains("problem")) {
      const json& problem = origin["problem"];
      out += fmt::format("\nno kernel: {}: {}; its parent stands in for it",
                         text_of(problem, "kind"), text_of(problem, "reason"));
    }
  }
  const json cut = report.value("cut", json::object());
  if (cut.contains("reason")) {
    const bool is_in = cut.value("is_in", true), is_modelled = cut.contains("modelled");
    const char* what = !is_modelled ? (is_in ? "not ruled out" : "not measured")
                       : is_in      ? "measured as a spot check"
                                    : "ruled out";
    out += fmt::format("\n{}: {}", what, text_of(cut, "reason"));
  }
  out += "\n\n";
  std::vector<std::vector<std::string>> rows = {{"case", "step", "verdict", "", "paid by"}};
  for (const json& row : report["steps"]) {
    std::string other = payer(text_of(row, "paid_by"), variant);
    std::string paid = other.empty() ? "itself" : other;
    if (row.contains("ran_seconds"))
      paid += fmt::format(", {:.1f} s", row["ran_seconds"].get<double>());
    rows.push_back({text_of(row, "case"), text_of(row, "step"), text_of(row, "verdict"),
                    step_detail(row), paid});
  }
  out += table(rows, "  ") + "\n";
  return out + times_table(report["times"], variant) + "\n  files: " + text_of(report, "folder") +
         "\n";
}

namespace {

// A selection that the ledger has; an error where it is not of the form that can be told.
Result<json> read_selection_of(const std::string& text) {
  auto selection = parse_outside(text);
  if (!selection) return std::move(selection).error().within("selection");
  if (auto status = search::check_selection_form(*selection); !status) return status.error();
  return selection;
}

}  // namespace

Result<json> rounds_report(const std::string& campaign, cache::SqliteLedger& ledger) {
  TRY_ASSIGN(auto rounds, ledger.rounds(campaign));
  json out = json::array();
  for (const auto& round : rounds) {
    TRY_ASSIGN(auto record, ledger.last_record(campaign, round.number));
    auto selection = read_selection_of(round.selection);
    out.push_back({{"round", round.number},
                   {"recorded", round.recorded},
                   {"record", record ? json(record->id) : json()},
                   {"selection", selection ? *selection : json::object()}});
    if (!selection) out.back()["problem"] = selection.error().message;
    if (!record) continue;
    TRY_ASSIGN(auto is_imported, ledger.is_imported(record->id));
    if (is_imported) out.back()["imported"] = true;
  }
  return out;
}

std::string rounds_text(const json& report) {
  std::vector<std::vector<std::string>> rows = {
      {"round", "recorded", "record", "best", "score", "rejected", "survivors"}};
  for (const json& round : report) {
    const json& selection = round["selection"];
    json best = selection.value("best", json::object());
    std::string survivors = text_of(round, "problem");
    for (const json& survivor : selection.value("survivors", json::array())) {
      survivors += (survivors.empty() ? "" : " ") + text_of(survivor, "variant");
    }
    rows.push_back(
        {std::to_string(round["round"].get<int>()), text_of(round, "recorded"),
         (round["record"].is_null() ? selection.value("from", "-") : round["record"].dump()) +
             (round.value("imported", false) ? ", imported" : ""),
         text_of(best, "variant"),
         best.contains("score") ? fmt::format("{:.4f}", best["score"].get<double>()) : "-",
         std::to_string(selection.value("rejected", json::array()).size()), survivors});
  }
  return table(rows, "");
}

std::string round_text(const json& selection, bool is_imported) {
  std::string out = fmt::format("round {} ({}{})\n\n", selection.value("round", 0),
                                text_of(selection, "time_kind"), is_imported ? ", imported" : "");
  std::vector<std::vector<std::string>> rows = {{"survivor", "score", "parameters", "reason"}};
  for (const json& survivor : selection.value("survivors", json::array())) {
    rows.push_back({text_of(survivor, "variant"),
                    fmt::format("{:.4f}", survivor.value("score", 0.0)),
                    parameters_text(survivor.value("parameters", json::object())),
                    text_of(survivor, "reason")});
  }
  out += table(rows, "  ") + "\n";
  const bool has_model = selection.contains("model");
  rows = {{"ranking", "score"}};
  if (has_model) rows.front().emplace_back("modelled");
  for (const json& row : selection.value("ranking", json::array())) {
    rows.push_back({text_of(row, "variant"), fmt::format("{:.4f}", row.value("score", 0.0))});
    if (!has_model) continue;
    // A speedup, as the score is.
    rows.back().push_back(
        row.contains("modelled") ? fmt::format("{:.4f}", 1 / row["modelled"].get<double>()) : "-");
    if (row.value("spot_check", false)) rows.back().back() += ", a spot check";
  }
  out += table(rows, "  ");
  if (has_model) {
    const std::string model = model_text(selection["model"]);
    if (!model.empty()) out += "\n  so far " + model + "\n";
    rows = {{"ruled out", "reason"}};
    for (const json& row : selection.value("ruled_out", json::array())) {
      rows.push_back({text_of(row, "variant"), text_of(row, "reason")});
    }
    if (rows.size() > 1) out += "\n" + table(rows, "  ");
  }
  json rejected = selection.value("rejected", json::array());
  if (rejected.empty()) return out;
  rows = {{"rejected", "step", "case", "kind", "reason"}};
  for (const json& row : rejected) {
    rows.push_back({text_of(row, "variant"), text_of(row, "step"), text_of(row, "case"),
                    text_of(row, "kind"), text_of(row, "reason")});
  }
  return out + "\n" + table(rows, "  ");
}

}  // namespace evolve::cli
