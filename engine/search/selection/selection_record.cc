#include "engine/search/selection/selection_record.h"

#include <fmt/format.h>

#include "engine/core/json_read.h"

namespace evolve::search {

namespace {

using nlohmann::json;

// The kind of time of a round in which nothing has a time.
constexpr const char* kNoTime = "none";

std::string text_or_empty(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

Error bad_record(const std::string& record, const std::string& what) {
  return external(fmt::format("{}: {}", record, what));
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
  if (variant.time_kind == TimeKind::measured && !variant.modelled.empty())
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
    if (ranked.same_as) one["same_as"] = *ranked.same_as;
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

}  // namespace

json model_error_record(const ModelError& model) {
  return {
      {"compared", model.compared},   {"offset", model.offset},           {"error", model.error},
      {"ruled_out", model.ruled_out}, {"spot_checks", model.spot_checks}, {"wrong", model.wrong}};
}

namespace {

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

Result<Survivor> read_survivor(const json& from, std::optional<TimeKind> time_kind) {
  constexpr const char* kRecord = "selection.json";
  Survivor out;
  Evaluated& variant = out.variant;
  TRY_ASSIGN(auto origin, read_origin(from, "variant", kRecord));
  static_cast<Origin&>(variant) = std::move(origin);
  variant.cell = text_at(from, "cell");
  variant.time_kind = time_kind;
  TRY_ASSIGN(auto seconds, read_times(member(from, "per_case"), kRecord));
  variant.seconds = std::move(seconds);
  for (const auto& [name, value] : member(from, "ratios").items()) {
    TRY_ASSIGN(auto ratio, read_ratio(value, kRecord));
    variant.ratios[name] = ratio;
  }
  if (!member(from, "modelled").is_null()) {
    TRY_ASSIGN(auto modelled, read_times(member(from, "modelled"), kRecord));
    variant.modelled = std::move(modelled);
  }
  for (const auto& [name, digest] : member(from, "programs").items()) {
    if (digest.is_string()) variant.programs[name] = digest.get<std::string>();
  }
  if (const json& score = member(from, "score"); score.is_number()) out.score = score;
  out.reason = text_at(from, "reason");
  out.name = text_at(from, "name");
  if (const json& count = member(from, "stagnant_rounds"); count.is_number_integer())
    out.stagnant_rounds = count;
  if (const json& island = member(from, "island"); island.is_number_integer()) out.island = island;
  for (const json& text : member(from, "path")) {
    if (const auto id = VariantId::parse(text_or_empty(text))) out.path.push_back(*id);
  }
  return out;
}

Result<VariantId> read_id(const json& from, const char* key) {
  const auto id = VariantId::parse(text_at(from, key));
  if (!id) return bad_record("selection.json", fmt::format("'{}' is no variant's id", key));
  return *id;
}

Result<Ranked> read_ranked(const json& from, std::optional<TimeKind> time_kind) {
  Ranked out;
  TRY_ASSIGN(auto id, read_id(from, "variant"));
  out.variant.id = id;
  out.variant.time_kind = time_kind;
  if (const json& round = member(from, "round"); round.is_number_integer())
    out.variant.round = round;
  if (const json& score = member(from, "score"); score.is_number()) out.score = score;
  TRY_ASSIGN(auto seconds, read_times(member(from, "per_case"), "selection.json"));
  out.variant.seconds = std::move(seconds);
  out.variant.is_confirmed = member(from, "confirmed") != false;
  for (const json& step : member(from, "not_done"))
    out.variant.not_done.push_back(text_or_empty(step));
  if (!member(from, "same_as").is_null()) {
    TRY_ASSIGN(auto same_as, read_id(from, "same_as"));
    out.same_as = same_as;
  }
  if (const json& modelled = member(from, "modelled"); modelled.is_number())
    out.modelled = modelled.get<double>();
  out.variant.is_spot_check = member(from, "spot_check") == true;
  return out;
}

Result<Evaluated> read_rejected(const json& from) {
  Evaluated out;
  TRY_ASSIGN(auto id, read_id(from, "variant"));
  out.id = id;
  TRY_ASSIGN(auto rejection, read_rejection(from));
  out.rejection = std::move(rejection);
  return out;
}

Result<Evaluated> read_ruled_out(const json& from) {
  Evaluated out;
  TRY_ASSIGN(auto id, read_id(from, "variant"));
  out.id = id;
  out.ruled_out = text_at(from, "reason");
  return out;
}

// Reads the seed. If a record has no seed, the round's scores are not relative to a seed.
Status read_seed(const json& from, Selection& out) {
  out.is_relative = member(from, "verdict") == "ok";
  out.seed.time_kind = out.time_kind;
  if (from.is_null()) return {};
  if (!out.is_relative) {
    TRY_ASSIGN(auto seed, read_rejected(from));
    out.seed = std::move(seed);
    return {};
  }
  TRY_ASSIGN(auto id, read_id(from, "variant"));
  out.seed.id = id;
  TRY_ASSIGN(auto seconds, read_times(member(from, "per_case"), "selection.json"));
  out.seed.seconds = std::move(seconds);
  return {};
}

// Reads the next round's places. Each place is a survivor's number.
Status read_places(const json& selection, Selection& out) {
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

// Reads the lists of pruned, ranked, rejected and ruled-out variants.
Status read_others(const json& selection, Selection& out) {
  for (const json& from : member(selection, "pruned")) {
    TRY_ASSIGN(auto survivor, read_survivor(from, out.time_kind));
    std::string reason = survivor.reason;
    out.pruned.push_back({std::move(survivor), std::move(reason)});
  }
  for (const json& from : member(selection, "ranking")) {
    TRY_ASSIGN(auto ranked, read_ranked(from, out.time_kind));
    out.ranking.push_back(std::move(ranked));
  }
  for (const json& from : member(selection, "rejected")) {
    TRY_ASSIGN(auto variant, read_rejected(from));
    out.rejected.push_back(std::move(variant));
  }
  for (const json& from : member(selection, "ruled_out")) {
    TRY_ASSIGN(auto variant, read_ruled_out(from));
    out.ruled_out.push_back(std::move(variant));
  }
  return {};
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

}  // namespace

Result<Selection> read_selection(const json& selection) {
  Selection out;
  const json& round = member(selection, "round");
  const json& survivors = member(selection, "survivors");
  if (!round.is_number_integer() || !survivors.is_array())
    return bad_record("selection.json", "the round or the survivors are missing");
  out.round = round.get<int>();
  out.time_kind = parse_time_kind(text_at(selection, "time_kind"));
  if (const json& resolution = member(selection, "resolution"); resolution.is_number())
    out.resolution = resolution;
  for (const json& from : survivors) {
    TRY_ASSIGN(auto survivor, read_survivor(from, out.time_kind));
    out.survivors.push_back(std::move(survivor));
  }
  TRY(read_places(selection, out));
  TRY(read_others(selection, out));
  TRY(read_seed(member(selection, "seed"), out));
  TRY_ASSIGN(auto model, read_model(member(selection, "model")));
  out.model = model;
  return out;
}

json best_record(const Selection& selection) {
  const json survivors = survivors_record(selection);
  return survivors.empty() ? json() : survivors.front();
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
  json out = {
      {"round", selection.round},
      {"time_kind", selection.time_kind ? to_string(*selection.time_kind) : kNoTime},
      {"resolution", selection.resolution},
      {"score_is",
       selection.is_relative
           ? "speedup over the seed: weighted geometric mean over the bench cases"
           : "1 / seconds: weighted geometric mean over the bench cases; the seed has no time"},
      {"survivors", survivors},
      {"places", selection.places},
      {"best", survivors.empty() ? json() : survivors.front()},
      {"ranking", ranking_record(selection)},
      {"rejected", rejected},
      {"seed", seed_record(selection)}};
  if (selection.lineages_made > 0) {
    out["lineages_made"] = selection.lineages_made;
    out["pruned"] = pruned_record(selection);
  }
  if (selection.time_kind == TimeKind::measured) {
    out["ruled_out"] = ruled_out_record(selection);
    out["model"] = model_error_record(selection.model);
  }
  return out;
}

}  // namespace evolve::search
