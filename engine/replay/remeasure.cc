// remeasure() of verify.h: the measured times of a recorded round, measured again and compared.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/core/outside_json.h"
#include "engine/replay/verify.h"
#include "engine/report/table.h"
#include "engine/search/selection/decision.h"

namespace evolve {

namespace {

using nlohmann::json;

// A measurement, as it was recorded and as it is now.
struct Pair {
  search::Decision before, now;
  search::Decision change;  // between the two
};

Result<search::Samples> samples_of(Result<std::string> text, const std::string& path) {
  if (!text) return std::move(text).error();
  return search::read_samples(json_or_null(*text), path);
}

bool is_comparable(const search::Decision& decision) {
  return decision.comparison != search::Comparison::not_comparable;
}

json json_of(const search::Decision& decision) {
  json out = {{"comparison", search::comparison_name(decision.comparison)}};
  if (is_comparable(decision)) out.update(search::ratio_record(decision.ratio));
  if (!decision.reason.empty()) out["reason"] = decision.reason;
  return out;
}

std::string interval_text(const search::Decision& decision) {
  if (!is_comparable(decision)) return decision.reason;
  const search::Ratio& ratio = decision.ratio;
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.value, ratio.low, ratio.high);
}

// Returns "agrees", "differs", or why there is no decision.
std::string verdict_of(const search::Decision& change) {
  switch (change.comparison) {
    case search::Comparison::tie: return "agrees";
    case search::Comparison::faster:
    case search::Comparison::slower: return "differs";
    default: return search::comparison_name(change.comparison);
  }
}

class Remeasurement {
 public:
  explicit Remeasurement(Rerun& rerun) : rerun_(rerun) {}

  Status add(const RecordedStep& step) {
    const RecordedFile& file = step.outputs.front();
    TRY_ASSIGN(auto before, rerun_.bytes_before(file));
    TRY_ASSIGN(auto now, rerun_.bytes_now(file));
    json row = {{"subject", step.subject}};
    const json was = json_or_null(before), is = json_or_null(now);
    // A rejected variant has no samples.
    if (was.value("verdict", "") != "ok" || is.value("verdict", "") != "ok") {
      const bool is_same = was.value("verdict", "") == is.value("verdict", "");
      row["verdict"] = is_same ? "agrees" : "differs";
      row["before"] = {{"verdict", was.value("verdict", "")}};
      row["now"] = {{"verdict", is.value("verdict", "")}};
      table_.push_back({step.subject, was.value("verdict", ""), is.value("verdict", ""), "",
                        row["verdict"].get<std::string>()});
    } else {
      TRY_ASSIGN(auto pair, compare(before, now, file.path));
      row["verdict"] = verdict_of(pair.change);
      row["before"] = json_of(pair.before);
      row["now"] = json_of(pair.now);
      row["change"] = json_of(pair.change);
      table_.push_back({step.subject, interval_text(pair.before), interval_text(pair.now),
                        interval_text(pair.change), row["verdict"].get<std::string>()});
    }
    ++counts_[row["verdict"].get<std::string>()];
    rows_.push_back(std::move(row));
    return {};
  }

  [[nodiscard]] const json& rows() const { return rows_; }
  [[nodiscard]] const std::map<std::string, int>& counts() const { return counts_; }
  [[nodiscard]] std::string text() const { return table(table_, "  "); }

 private:
  static Result<Pair> compare(const std::string& before, const std::string& now,
                              const std::string& path) {
    TRY_ASSIGN(auto earlier, samples_of(before, path));
    TRY_ASSIGN(auto later, samples_of(now, path));
    return Pair{search::decide(earlier, {}), search::decide(later, {}),
                search::compare(earlier, later, {})};
  }

  Rerun& rerun_;
  json rows_ = json::array();
  std::map<std::string, int> counts_;
  std::vector<std::vector<std::string>> table_ = {
      {"measured", "was, of the seed's time", "is", "change", ""}};
};

}  // namespace

Result<Answer> remeasure(const CampaignFlags& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, Judge judge) {
  std::vector<const RecordedStep*> measured;
  for (const RecordedStep& step : past.record.steps) {
    if (step.step_class == StepClass::measured) measured.push_back(&step);
  }
  if (measured.empty()) {
    return bad_input(
        fmt::format("{}: nothing was measured: modelled times are the same in every run",
                    past.name()),
        "",
        "time.kind in the pipeline chooses measured times; evolve replay --verify runs pure steps "
        "again");
  }
  Rerun rerun(common, past, from, machine, default_conditions(), StepsToRun::measurements, judge);
  TRY(rerun.run(folder));
  Remeasurement found(rerun);
  for (const RecordedStep* step : measured) {
    TRY(found.add(*step));
  }
  std::string counts;
  for (const auto& [verdict, count] : found.counts()) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, verdict);
  }
  Answer answer{
      {{"round", past.stored.round},
       {"campaign", past.stored.campaign},
       {"record", past.stored.id},
       {"measured", found.rows()},
       {"is_their_judge", judge == Judge::theirs},
       {"counts", found.counts()}},
      found.text() + fmt::format("{}, record {}: {} measured again: {}{}\n", past.name(),
                                 past.stored.id, measured.size(), counts, judge_note(judge))};
  const auto differing = found.counts().find("differs");
  if (!(differing == found.counts().end()))
    answer.failure =
        failed(fmt::format("{}: {} of {} times differ from the record, which does not change",
                           past.name(), differing->second, measured.size()));
  return answer;
}

}  // namespace evolve
