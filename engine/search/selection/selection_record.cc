#include "engine/search/selection/selection_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/search/member.h"
#include "engine/search/selection/population.h"

namespace evolve::search {

namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Error bad_record(const std::string& record, const std::string& what) {
  return external(fmt::format("{}: {}", record, what));
}

Result<Point> read_point(const json& from, const std::string& record) {
  if (!from.is_object()) return bad_record(record, "no parameters");
  Point point;
  for (const auto& [name, value] : from.items()) {
    if (!value.is_number_integer())
      return bad_record(record, fmt::format("'{}' is not a whole number", name));
    point[name] = value.get<int64_t>();
  }
  return point;
}

Result<std::map<std::string, double>> read_times(const json& from, const std::string& record) {
  std::map<std::string, double> out;
  if (!from.is_object()) return bad_record(record, "the times are missing");
  for (const auto& [name, value] : from.items()) {
    if (!value.is_number())
      return bad_record(record, fmt::format("the time of '{}' is not a number", name));
    out[name] = value.get<double>();
  }
  return out;
}

// Takes the time of a case from a time.json that is ok.
Status take_time(const json& record, const std::string& case_name, Evaluated& out) {
  const json& seconds = member(record, "seconds");
  std::string kind = text_of(record, "kind");
  const bool is_sound =
      seconds.is_number() && seconds.get<double>() > 0 && std::isfinite(seconds.get<double>());
  if (!is_sound || (kind != "modelled" && kind != "measured")) {
    return bad_record(fmt::format("{} {} time.json", out.id, case_name),
                      "the seconds or the kind is missing or invalid");
  }
  if (!out.time_kind.empty() && out.time_kind != kind) {
    return bad_input(fmt::format("{} and {} times are never ranked together: '{}' has both",
                                 out.time_kind, kind, out.id));
  }
  out.time_kind = kind;
  out.seconds[case_name] = seconds.get<double>();
  if (member(record, "confirmed") == false) out.is_confirmed = false;
  if (!member(record, "ratio").is_null()) {
    TRY_ASSIGN(auto ratio, read_ratio(record, fmt::format("{} {} time.json", out.id, case_name)));
    out.ratios[case_name] = ratio;
  }
  return {};
}

json ratios_record(const std::map<std::string, Ratio>& ratios) {
  json out = json::object();
  for (const auto& [name, ratio] : ratios) {
    out[name] = ratio_record(ratio);
  }
  return out;
}

json variant_core(const Evaluated& variant, double score) {
  json out = {{"variant", variant.id},
              {"round", variant.round},
              {"parameters", variant.parameters},
              {"parents", variant.parents},
              {"per_case", variant.seconds},
              {"score", score}};
  if (!variant.ratios.empty()) out["ratios"] = ratios_record(variant.ratios);
  if (!variant.programs.empty()) out["programs"] = variant.programs;
  if (!variant.note.empty()) out["note"] = variant.note;
  if (!variant.mutator.empty()) out["mutator"] = variant.mutator;
  if (!variant.structure.empty()) out["structure"] = variant.structure;
  if (!variant.cell.empty()) out["cell"] = variant.cell;
  // If times are modelled, `per_case` has them.
  if (variant.time_kind == "measured" && !variant.modelled.empty())
    out["modelled"] = variant.modelled;
  return out;
}

json rejected_record(const Evaluated& variant) {
  json out = rejection_record(*variant.rejection);
  out["variant"] = variant.id;
  return out;
}

json seed_record(const Selection& selection) {
  const Evaluated& seed = selection.seed;
  if (seed.rejection) {
    json out = rejected_record(seed);
    out["verdict"] = "rejected";
    return out;
  }
  return {{"variant", seed.id}, {"verdict", "ok"}, {"score", 1.0}, {"per_case", seed.seconds}};
}

json survivor_record(const Survivor& survivor) {
  json out = variant_core(survivor.variant, survivor.score);
  out["reason"] = survivor.reason;
  if (!survivor.name.empty()) {
    out["name"] = survivor.name;
    out["stagnant_rounds"] = survivor.stagnant_rounds;
    out["path"] = survivor.path;
  }
  if (survivor.island > 0) out["island"] = survivor.island;
  return out;
}

json pruned_record(const Selection& selection) {
  json out = json::array();
  for (const Pruned& pruned : selection.pruned) {
    json one = survivor_record(pruned.survivor);
    one["reason"] = pruned.reason;
    out.push_back(one);
  }
  return out;
}

json survivors_record(const Selection& selection) {
  json out = json::array();
  for (const Survivor& survivor : selection.survivors) {
    json one = survivor_record(survivor);
    one["lineage"] = out.size() + 1;
    out.push_back(one);
  }
  return out;
}

json ranking_record(const Selection& selection) {
  json out = json::array();
  for (const Ranked& ranked : selection.ranking) {
    json one = {{"variant", ranked.variant.id},
                {"round", ranked.variant.round},
                {"score", ranked.score},
                {"per_case", ranked.variant.seconds}};
    if (!ranked.variant.is_confirmed) one["confirmed"] = false;
    if (!ranked.variant.not_done.empty()) one["not_done"] = ranked.variant.not_done;
    if (!ranked.same_as.empty()) one["same_as"] = ranked.same_as;
    if (ranked.modelled) one["modelled"] = *ranked.modelled;
    if (ranked.variant.is_spot_check) one["spot_check"] = true;
    out.push_back(one);
  }
  return out;
}

json ruled_out_record(const Selection& selection) {
  json out = json::array();
  for (const Evaluated& variant : selection.ruled_out) {
    out.push_back({{"variant", variant.id}, {"reason", variant.ruled_out}});
  }
  return out;
}

json model_record(const ModelError& model) {
  return {
      {"compared", model.compared},   {"offset", model.offset},           {"error", model.error},
      {"ruled_out", model.ruled_out}, {"spot_checks", model.spot_checks}, {"wrong", model.wrong}};
}

// Reads the model's error. A round without such a record has compared no variant yet.
Result<ModelError> read_model(const json& from) {
  ModelError out;
  if (from.is_null()) return out;
  for (const auto& [key, count] : {std::pair("compared", &out.compared),
                                   {"ruled_out", &out.ruled_out},
                                   {"spot_checks", &out.spot_checks},
                                   {"wrong", &out.wrong}}) {
    const json& value = member(from, key);
    if (!value.is_number_unsigned())
      return bad_record("selection.json", fmt::format("model.{} is not a count", key));
    *count = value.get<size_t>();
  }
  for (const auto& [key, number] : {std::pair("offset", &out.offset), {"error", &out.error}}) {
    const json& value = member(from, key);
    if (!value.is_number())
      return bad_record("selection.json", fmt::format("model.{} is not a number", key));
    *number = value.get<double>();
  }
  return out;
}

Result<Survivor> read_survivor(const json& from, const std::string& time_kind) {
  TRY_ASSIGN(auto variant, read_variant_core(from, "variant", "selection.json"));
  variant.time_kind = time_kind;
  TRY_ASSIGN(auto seconds, read_times(member(from, "per_case"), "selection.json"));
  variant.seconds = std::move(seconds);
  for (const auto& [name, value] : member(from, "ratios").items()) {
    TRY_ASSIGN(auto ratio, read_ratio(value, "selection.json"));
    variant.ratios[name] = ratio;
  }
  if (!member(from, "modelled").is_null()) {
    TRY_ASSIGN(auto modelled, read_times(member(from, "modelled"), "selection.json"));
    variant.modelled = std::move(modelled);
  }
  for (const auto& [name, digest] : member(from, "programs").items()) {
    if (digest.is_string()) variant.programs[name] = digest.get<std::string>();
  }
  Survivor out;
  out.variant = std::move(variant);
  if (const json& score = member(from, "score"); score.is_number()) out.score = score;
  out.name = text_of(from, "name");
  if (const json& count = member(from, "stagnant_rounds"); count.is_number_integer())
    out.stagnant_rounds = count;
  if (const json& island = member(from, "island"); island.is_number_integer()) out.island = island;
  for (const json& id : member(from, "path")) {
    if (id.is_string()) out.path.push_back(id);
  }
  return out;
}

using IsOf = bool (*)(const json&);
bool is_text(const json& value) {
  return value.is_string();
}
bool is_number(const json& value) {
  return value.is_number();
}
bool is_whole(const json& value) {
  return value.is_number_integer();
}
bool is_truth(const json& value) {
  return value.is_boolean();
}
bool is_object(const json& value) {
  return value.is_object();
}
bool is_list(const json& value) {
  return value.is_array();
}
bool is_object_or_null(const json& value) {
  return value.is_object() || value.is_null();
}

// The check of each member, if the member exists.
using Form = std::map<std::string, IsOf>;

Status check_form(const json& value, const Form& form, const std::string& where) {
  if (!value.is_object()) return bad_record("selection", where + " is not an object");
  for (const auto& [name, is_of] : form) {
    auto it = value.find(name);
    if (it != value.end() && !is_of(*it))
      return bad_record("selection", fmt::format("'{}' of {} has the wrong type", name, where));
  }
  return {};
}

// Reads the next round's places. Each place is a survivor's number.
Status read_places(const json& selection, PreviousSelection& out) {
  for (const json& from : member(selection, "places")) {
    const int number = from.is_number_integer() ? from.get<int>() : 0;
    if (number < 1 || number > static_cast<int>(out.survivors.size()))
      return bad_record("selection.json", "a place does not belong to a survivor");
    out.places.push_back(number);
  }
  if (const json& made = member(selection, "lineages_made"); made.is_number_integer())
    out.lineages_made = made;
  return {};
}

}  // namespace

Result<Evaluated> read_variant_core(const json& from, const char* id_key,
                                    const std::string& record) {
  Evaluated out;
  out.id = text_of(from, id_key);
  const json& round = member(from, "round");
  if (out.id.empty() || !round.is_number_integer())
    return bad_record(record, "the id or the round is missing");
  out.round = round.get<int>();
  out.note = text_of(from, "note");
  out.mutator = text_of(from, "mutator");
  out.source = text_of(from, "source");
  out.structure = text_of(from, "structure");
  out.cell = text_of(from, "cell");
  out.exchange = member(from, "exchange");
  for (const json& parent : member(from, "parents")) {
    if (parent.is_string()) out.parents.push_back(parent.get<std::string>());
  }
  TRY_ASSIGN(auto parameters, read_point(member(from, "parameters"), record));
  out.parameters = std::move(parameters);
  return out;
}

Result<Rejection> read_rejection(const json& from) {
  Rejection out = {text_of(from, "step"), text_of(from, "case"), text_of(from, "kind"),
                   text_of(from, "reason"), member(from, "evidence")};
  if (out.step.empty() || out.kind.empty()) return external("the rejection is missing");
  return out;
}

json rejection_record(const Rejection& why) {
  json out = {
      {"step", why.step}, {"case", why.case_name}, {"kind", why.kind}, {"reason", why.reason}};
  if (!why.evidence.is_null()) out["evidence"] = why.evidence;
  return out;
}

Result<std::vector<CaseRecord>> read_cases(const json& spec) {
  const json& cases = member(spec, "cases");
  if (!cases.is_array() || cases.empty()) return bad_record("spec.json", "the cases are missing");
  std::vector<CaseRecord> out;
  for (const json& from : cases) {
    CaseRecord one;
    one.judged.name = text_of(from, "name");
    const json& weight = member(from, "weight");
    if (one.judged.name.empty() || !weight.is_number())
      return bad_record("spec.json", "a case has no name or no weight");
    one.weight = weight.get<double>();
    for (const json& step : member(spec, "excused")) {
      if (step.is_string()) one.excused.push_back(step.get<std::string>());
    }
    for (const json& tag : member(from, "tags")) {
      one.judged.is_bench = one.judged.is_bench || tag == "bench";
      one.judged.is_check = one.judged.is_check || tag == "check";
    }
    out.push_back(one);
  }
  return out;
}

namespace {

bool is_excused(const std::vector<CaseRecord>& cases, const std::string& step) {
  return std::any_of(cases.begin(), cases.end(), [&](const CaseRecord& one) {
    return std::find(one.excused.begin(), one.excused.end(), step) != one.excused.end();
  });
}

// Orders the kinds of rejection of one variant; the lowest is reported. Accesses to foreign memory
// come first, because they cause wrong values. A time-out says the least.
int place_of(const std::string& kind) {
  if (kind == "out-of-bounds") return 0;
  if (kind == "race") return 1;
  return kind == "timeout" ? 3 : 2;
}

bool says_more(const std::string& kind, const std::string& other) {
  return place_of(kind) < place_of(other);
}

}  // namespace

Result<Evaluated> read_evaluated(const json& variant, const std::vector<CaseRecord>& cases,
                                 const LoadRecord& load, Judged judged_to) {
  TRY_ASSIGN(auto read, read_variant_core(variant, "id", "variant.json"));
  Evaluated out = std::move(read);
  // A proposal that was not a kernel stays rejected, whatever was built in its place.
  if (const json& problem = member(variant, "problem"); problem.is_object())
    out.rejection = {"adopt", "", text_of(problem, "kind"), text_of(problem, "reason"), {}};
  const bool has_times = judged_to >= Judged::before_values;
  std::optional<Rejection> not_modelled, not_reached;
  std::vector<JudgedCase> judged;
  judged.reserve(cases.size());
  for (const CaseRecord& one : cases) judged.push_back(one.judged);
  for (const auto& [step, case_name, file] : judging_reports(judged, judged_to)) {
    TRY_ASSIGN(auto record, load(case_name, file));
    std::string verdict = text_of(record, "verdict");
    if (verdict == "ok") {
      const json& program = member(member(member(record, "programs"), "tpu"), "digest");
      if (program.is_string()) out.programs[case_name] = program.get<std::string>();
      const json& modelled = member(member(record, "modelled"), "seconds");
      if (step == "analyze" && out.cell.empty()) out.cell = cell_of(record);
      if (step == "analyze" && modelled.is_number() && modelled.get<double>() > 0)
        out.modelled[case_name] = modelled.get<double>();
      if (step != "time") continue;
      if (auto status = take_time(record, case_name, out); !status) return status.error();
    } else if (verdict == "rejected") {
      // A program that the model cannot follow matters only if times are modelled.
      const bool is_not_modelled = step == "analyze" && text_of(record, "kind") == "not_modelled";
      auto& why = is_not_modelled ? not_modelled : out.rejection;
      // A proposal that is not a kernel keeps that rejection, whatever its parent does.
      const bool is_kept = why && why->step == "adopt";
      if (!why || (!is_kept && says_more(text_of(record, "kind"), why->kind))) {
        why = {step, case_name, text_of(record, "kind"), text_of(record, "reason"),
               member(record, "evidence")};
      }
    } else if (verdict == "not_done") {
      if (!is_excused(cases, step))
        out.not_done.push_back(
            fmt::format("{} {}: {}", step, case_name, text_of(record, "reason")));
    } else if (verdict == "not_reached" && step == "values") {
      // The variant is too slow to survive, or an earlier step says why.
      out.is_confirmed = false;
    } else if (verdict == "not_reached") {
      if (!not_reached) {
        not_reached = {step,
                       case_name,
                       "not_reached",
                       "the step was not reached, and none before it says why",
                       {}};
      }
    } else {
      return bad_record(fmt::format("{} {} {}", out.id, case_name, file), "the verdict is missing");
    }
  }
  // Only the programs of timed cases are compared.
  for (const CaseRecord& one : cases) {
    if (!one.judged.is_bench) out.programs.erase(one.judged.name);
  }
  const bool needs_model = has_times && out.time_kind != "measured";
  if (!out.rejection && needs_model) out.rejection = not_modelled;
  if (!out.rejection) out.rejection = not_reached;
  return out;
}

std::optional<std::string> problem_of_seed(const Evaluated& seed) {
  if (const auto& why = seed.rejection) {
    return fmt::format("{}: case '{}': {}: {}", why->step, why->case_name, why->kind, why->reason);
  }
  if (!seed.not_done.empty()) return "not done: " + seed.not_done.front();
  return std::nullopt;
}

Result<PreviousSelection> read_selection(const json& selection) {
  PreviousSelection out;
  const json& round = member(selection, "round");
  const json& survivors = member(selection, "survivors");
  if (!round.is_number_integer() || !survivors.is_array()) {
    return bad_record("selection.json", "the round or the survivors are missing");
  }
  out.round = round.get<int>();
  for (const json& from : survivors) {
    TRY_ASSIGN(auto survivor, read_survivor(from, text_of(selection, "time_kind")));
    out.survivors.push_back(std::move(survivor));
  }
  if (auto status = read_places(selection, out); !status) return status.error();
  TRY_ASSIGN(auto model, read_model(member(selection, "model")));
  out.model = model;
  return out;
}

Status check_selection_form(const json& selection) {
  static const Form kSelection = {
      {"round", is_whole},    {"time_kind", is_text}, {"best", is_object_or_null},
      {"survivors", is_list}, {"ranking", is_list},   {"rejected", is_list},
      {"ruled_out", is_list}, {"model", is_object},   {"from", is_text}};
  static const Form kModel = {{"compared", is_whole},
                              {"error", is_number},
                              {"ruled_out", is_whole},
                              {"wrong", is_whole},
                              {"spot_checks", is_whole}};
  static const Form kRow = {
      {"variant", is_text},      {"score", is_number},      {"reason", is_text},
      {"parameters", is_object}, {"step", is_text},         {"case", is_text},
      {"kind", is_text},         {"interpreted", is_truth}, {"spot_check", is_truth}};
  static const Form kRanked = {{"modelled", is_number}};
  TRY(check_form(selection, kSelection, "it"));
  if (auto it = selection.find("model"); it != selection.end()) {
    TRY(check_form(*it, kModel, "its model"));
  }
  if (const json& best = member(selection, "best"); !best.is_null()) {
    TRY(check_form(best, kRow, "its best"));
  }
  for (const char* list : {"survivors", "ranking", "rejected", "ruled_out"}) {
    for (const json& row : member(selection, list)) {
      const std::string where = fmt::format("a row of its '{}'", list);
      TRY(check_form(row, kRow, where));
      if (list != std::string_view("ranking")) continue;
      TRY(check_form(row, kRanked, where));
    }
  }
  return {};
}

json selection_record(const Selection& selection) {
  json survivors = survivors_record(selection);
  json rejected = json::array();
  for (const Evaluated& variant : selection.rejected) rejected.push_back(rejected_record(variant));
  json best = survivors.empty() ? json() : survivors.front();
  json out = {
      {"round", selection.round},
      {"time_kind", selection.time_kind},
      {"resolution", selection.resolution},
      {"score_is",
       selection.is_relative
           ? "speedup over the seed: weighted geometric mean over the bench cases"
           : "1 / seconds: weighted geometric mean over the bench cases; the seed has no time"},
      {"survivors", survivors},
      {"places", selection.places},
      {"best", best},
      {"ranking", ranking_record(selection)},
      {"rejected", rejected},
      {"seed", seed_record(selection)}};
  if (selection.lineages_made > 0) {
    out["lineages_made"] = selection.lineages_made;
    out["pruned"] = pruned_record(selection);
  }
  if (selection.time_kind == "measured") {
    out["ruled_out"] = ruled_out_record(selection);
    out["model"] = model_record(selection.model);
  }
  return out;
}

json variant_record(const std::string& id, int round, const std::vector<std::string>& parents,
                    const std::string& mutator, const Point& parameters, const std::string& note) {
  return {{"id", id},           {"round", round},           {"parents", parents},
          {"mutator", mutator}, {"parameters", parameters}, {"note", note}};
}

json problem_record(const Problem& problem) {
  return {{"kind", problem.kind}, {"reason", problem.reason}};
}

}  // namespace evolve::search
