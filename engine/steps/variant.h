// What the steps of a round share: reading what its variants are, and what became of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/search/history/history.h"
#include "engine/search/learning/learnings.h"
#include "engine/search/selection/race.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/space/space.h"
#include "engine/steps/step.h"

namespace evolve::steps {

// The cases of a spec.json.
inline Result<std::vector<search::CaseRecord>> read_spec(const std::string& path) {
  TRY_ASSIGN(auto spec, read_json(path));
  return search::read_cases(spec);
}

// The parameters of a spec.json.
inline Result<search::Space> read_space(const std::string& path) {
  TRY_ASSIGN(auto spec, read_json(path));
  return search::Space::from_spec_json(spec);
}

// What became of the variants so far; empty where `path` is: there are none.
inline Result<search::History> read_history(const std::string& path) {
  if (path.empty()) return search::History();
  TRY_ASSIGN(auto text, world::read_file(path));
  auto history = search::read_history(text);
  if (!history) return std::move(history).error().within(path);
  return history;
}

// What was learned; nothing where `path` is empty: there is no such file.
inline Result<search::Learnings> read_learnings(const std::string& path) {
  if (path.empty()) return search::Learnings();
  TRY_ASSIGN(auto text, world::read_file(path));
  return search::parse_learnings(text);
}

// The cases as the variants of a round are judged, which the seed is not: their programs must be
// new where `must_be_new`.
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

// What a round handed on.
inline Result<search::PreviousSelection> read_previous(const std::string& path) {
  TRY_ASSIGN(auto record, read_json(path));
  auto previous = search::read_selection(record);
  if (!previous) return std::move(previous).error().within(path);
  return previous;
}

// What the first cut said of a round, by variant: "is_in", "spot_check" and "reason" as in its
// cut.json. Empty where `path` is: there was none.
inline Result<std::map<std::string, nlohmann::json>> read_cut(const std::string& path) {
  std::map<std::string, nlohmann::json> out;
  if (path.empty()) return out;
  TRY_ASSIGN(auto record, read_json(path));
  for (const nlohmann::json& one : record.value("variants", nlohmann::json::array())) {
    out[one.value("variant", "")] = one;
  }
  return out;
}

// A variant by the records in its folder, as far as it has been judged.
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

// What the compiler said of a variant, by case: what a model is shown.
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

// What a variant's own measurements read of a cut or a race: no more than whether it is in, so that
// nothing else has it measured anew.
inline Status write_admission(const std::string& path, bool is_in) {
  return write_json(path, {{"is_in", is_in}});
}

// What a step decided of a round's variants: all of them in `out`, and to each its own word, in
// the file of this name in its folder.
inline Status write_admissions(const std::vector<search::RaceEntry>& entries,
                               const std::string& round_dir, const std::string& file,
                               const std::string& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [id, is_in, reason] : entries) {
    nlohmann::json one = {{"variant", id}, {"is_in", is_in}};
    if (!reason.empty()) one["reason"] = reason;
    all.push_back(std::move(one));
    auto status = write_admission(fmt::format("{}/{}/{}", round_dir, id, file), is_in);
    if (!status) return status;
  }
  return write_json(out, {{"variants", all}});
}

}  // namespace evolve::steps
