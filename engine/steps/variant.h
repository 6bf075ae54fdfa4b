// Shared functions of a round's steps, which read the round's variants and the records about them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/search/history/history.h"
#include "engine/search/learning/learnings.h"
#include "engine/search/selection/evaluated_record.h"
#include "engine/search/selection/race.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/space/space.h"
#include "engine/steps/step.h"

namespace evolve::steps {

// Reads the cases of a spec.json.
inline Result<std::vector<search::CaseRecord>> read_spec(const std::string& path) {
  TRY_ASSIGN(auto spec, read_json(path));
  return search::read_cases(spec);
}

// Reads the parameters and constraints of a spec.json.
inline Result<search::Space> read_space(const std::string& path) {
  TRY_ASSIGN(auto spec, read_json(path));
  return search::Space::from_spec_json(spec);
}

// Reads the history of the variants so far. Empty `path`: an empty history, because there are no
// variants yet.
inline Result<search::History> read_history(const std::string& path) {
  if (path.empty()) return search::History();
  TRY_ASSIGN(auto text, world::read_file(path));
  auto history = search::read_history(text);
  if (!history) return std::move(history).error().within(path);
  return history;
}

// Reads the learnings. Empty `path`: there is no such file, and nothing was learned.
inline Result<search::Learnings> read_learnings(const std::string& path) {
  if (path.empty()) return search::Learnings();
  TRY_ASSIGN(auto text, world::read_file(path));
  return search::parse_learnings(text);
}

// Returns the cases by which a round's variants are judged. With `must_be_new`, near-duplicates are
// rejected; the seed's cases never have this rule.
inline std::vector<search::CaseRecord> judged_in_round(std::vector<search::CaseRecord> cases,
                                                       bool must_be_new) {
  for (search::CaseRecord& one : cases) one.judged.must_be_new = must_be_new;
  return cases;
}

inline std::vector<search::BenchCase> benches_of(const std::vector<search::CaseRecord>& cases) {
  std::vector<search::BenchCase> out;
  for (const search::CaseRecord& one : cases) {
    if (one.judged.is_bench) out.push_back({one.judged.name, one.weight});
  }
  return out;
}

// Reads the selection of a round.
inline Result<search::Selection> read_previous(const std::string& path) {
  TRY_ASSIGN(auto record, read_json(path));
  auto previous = search::read_selection(record);
  if (!previous) return std::move(previous).error().within(path);
  return previous;
}

// Reads the decisions of the first cut on a round, by variant, from the round's cut.json. Empty
// `path`: the round had no cut.
inline Result<std::map<VariantId, search::Admission>> read_cut(const std::string& path) {
  std::map<VariantId, search::Admission> out;
  if (path.empty()) return out;
  TRY_ASSIGN(auto record, read_json(path));
  for (const nlohmann::json& one : record.value("variants", nlohmann::json::array())) {
    const auto id = VariantId::parse(one.value("variant", ""));
    if (!id) return external("a variant without an id").within(path);
    out[*id] = {*id, one.value("is_in", true), one.value("reason", ""),
                one.value("spot_check", false)};
  }
  return out;
}

// Reads a variant from the records in its folder, as far as it has been judged.
inline Result<search::Evaluated> read_variant(const std::string& folder,
                                              const std::vector<search::CaseRecord>& cases,
                                              Judged judged = Judged::whole) {
  TRY_ASSIGN(auto variant, read_json(folder + "/variant.json"));
  return search::read_evaluated(
      variant, cases,
      [&](const std::string& case_name, const std::string& file) {
        return read_json(fmt::format("{}/{}/{}", folder, case_name, file));
      },
      judged);
}

// Reads the compiler's evidence about a variant, by case. Prompts for language models show it.
inline Result<nlohmann::json> read_evidence(const std::string& folder,
                                            const std::vector<search::BenchCase>& cases) {
  nlohmann::json out = {{"cases", nlohmann::json::object()}};
  for (const search::BenchCase& one : cases) {
    TRY_ASSIGN(auto facts, read_json(fmt::format("{}/{}/facts.json", folder, one.name)));
    out["device"]["kind"] = facts.value("target", "");
    out["device"]["vmem_bytes"] = facts.value("/vmem/capacity_bytes"_json_pointer, 0.0);
    out["cases"][one.name] = std::move(facts);
  }
  return out;
}

// Writes the part of a round's decisions that a variant's own edges read: only whether the variant
// is in. So nothing else in the decisions causes the variant to be judged again.
inline Status write_admission(const std::string& path, bool is_in) {
  return write_json(path, {{"is_in", is_in}});
}

// Writes a step's decisions on a round's variants: all of them to `out`, and each variant's own to
// the file `file` in its folder.
inline Status write_admissions(const std::vector<search::Admission>& admissions,
                               const std::string& round_dir, const std::string& file,
                               const std::string& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const search::Admission& admission : admissions) {
    nlohmann::json one = {{"variant", admission.id}, {"is_in", admission.is_in}};
    if (!admission.reason.empty()) one["reason"] = admission.reason;
    all.push_back(std::move(one));
    const std::string own = fmt::format("{}/{}/{}", round_dir, admission.id, file);
    TRY(write_admission(own, admission.is_in));
  }
  return write_json(out, {{"variants", all}});
}

}  // namespace evolve::steps
