#include "engine/search/selection/evaluated_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/core/json_read.h"
#include "engine/search/judging.h"
#include "engine/search/selection/population.h"

namespace evolve::search {

namespace {

using nlohmann::json;

Error bad_report(const std::string& record, const std::string& what) {
  return external(fmt::format("{}: {}", record, what));
}

// Takes the time of a case from a time.json that is ok.
Status take_time(const json& record, const std::string& case_name, Evaluated& out) {
  const json& seconds = member(record, "seconds");
  const auto kind = parse_time_kind(text_at(record, "kind"));
  const bool is_sound =
      seconds.is_number() && seconds.get<double>() > 0 && std::isfinite(seconds.get<double>());
  if (!is_sound || !kind) {
    return bad_report(fmt::format("{} {} time.json", out.id, case_name),
                      "the seconds or the kind is missing or invalid");
  }
  if (out.time_kind && out.time_kind != kind) {
    return bad_input(fmt::format("{} and {} times are never ranked together: '{}' has both",
                                 to_string(*out.time_kind), to_string(*kind), out.id));
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

}  // namespace

Result<std::vector<CaseRecord>> read_cases(const json& spec) {
  const json& cases = member(spec, "cases");
  if (!cases.is_array() || cases.empty()) return bad_report("spec.json", "the cases are missing");
  std::vector<CaseRecord> out;
  for (const json& from : cases) {
    CaseRecord one;
    one.judged.name = text_at(from, "name");
    const json& weight = member(from, "weight");
    if (one.judged.name.empty() || !weight.is_number())
      return bad_report("spec.json", "a case has no name or no weight");
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

// Returns the place of a kind among a variant's rejections; the lowest place is reported. Accesses
// out of bounds and races come first, because they cause wrong values. A time-out says the least.
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
  TRY_ASSIGN(auto origin, read_origin(variant, "id", "variant.json"));
  Evaluated out;
  static_cast<Origin&>(out) = std::move(origin);
  // A proposal that was not a kernel stays rejected, whatever was built in its place.
  if (const json& problem = member(variant, "problem"); problem.is_object())
    out.rejection = {"adopt", "", text_at(problem, "kind"), text_at(problem, "reason")};
  const bool has_times = judged_to >= Judged::before_values;
  std::optional<Rejection> not_modelled, not_reached;
  std::vector<JudgedCase> judged;
  judged.reserve(cases.size());
  for (const CaseRecord& one : cases) judged.push_back(one.judged);
  for (const auto& [step, case_name, file] : judging_reports(judged, judged_to)) {
    TRY_ASSIGN(auto record, load(case_name, file));
    std::string verdict = text_at(record, "verdict");
    if (verdict == "ok") {
      const json& program = device_program_of(record);
      if (program.is_string()) out.programs[case_name] = program.get<std::string>();
      const json& modelled = member(member(record, "modelled"), "seconds");
      if (step == "analyze" && out.cell.empty()) out.cell = cell_of(record);
      if (step == "analyze" && modelled.is_number() && modelled.get<double>() > 0)
        out.modelled[case_name] = modelled.get<double>();
      if (step != "time") continue;
      if (auto status = take_time(record, case_name, out); !status) return status.error();
    } else if (verdict == "rejected") {
      // A program that the model cannot follow matters only if times are modelled.
      const bool is_not_modelled = step == "analyze" && text_at(record, "kind") == "not_modelled";
      auto& why = is_not_modelled ? not_modelled : out.rejection;
      // A proposal that is not a kernel keeps that rejection, whatever the reports on its parent's
      // kernel say.
      const bool is_kept = why && why->step == "adopt";
      if (!why || (!is_kept && says_more(text_at(record, "kind"), why->kind))) {
        why = {step, case_name, text_at(record, "kind"), text_at(record, "reason"),
               read_rejection_evidence(member(record, "evidence"))};
      }
    } else if (verdict == "not_done") {
      if (!is_excused(cases, step))
        out.not_done.push_back(
            fmt::format("{} {}: {}", step, case_name, text_at(record, "reason")));
    } else if (verdict == "not_reached" && step == "values") {
      // The variant is too slow to survive, or an earlier report has the reason.
      out.is_confirmed = false;
    } else if (verdict == "not_reached") {
      if (!not_reached) {
        not_reached = {step, case_name, "not_reached",
                       "the step was not reached, and none before it says why"};
      }
    } else {
      return bad_report(fmt::format("{} {} {}", out.id, case_name, file), "the verdict is missing");
    }
  }
  // Only the programs of timed cases are compared.
  for (const CaseRecord& one : cases) {
    if (!one.judged.is_bench) out.programs.erase(one.judged.name);
  }
  const bool needs_model = has_times && out.time_kind != TimeKind::measured;
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

}  // namespace evolve::search
