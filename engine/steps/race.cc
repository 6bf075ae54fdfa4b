// Step race: the choice of a round's variants that are measured again, for longer.
#include "engine/search/selection/race.h"

#include "engine/search/selection/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, previous, round_dir, out;
  std::vector<VariantId> variants;
  size_t top_k = 1, finalists = 1;
  bool must_be_new = false;
};

class Race {
 public:
  explicit Race(const Arguments& arguments) : arguments_(arguments) {}

  Status run() {
    TRY_ASSIGN(auto cases, steps::read_spec(arguments_.spec));
    cases_ = steps::judged_in_round(std::move(cases), arguments_.must_be_new);
    benches_ = steps::benches_of(cases_);
    for (const VariantId id : arguments_.variants) {
      TRY(admit(id));
    }
    TRY_ASSIGN(auto leaders, read_leaders());
    for (search::Admission& admission :
         search::race(runners_, leaders, arguments_.top_k, arguments_.finalists)) {
      admissions_.push_back(std::move(admission));
    }
    return steps::write_admissions(admissions_, arguments_.round_dir, "race.json", arguments_.out);
  }

 private:
  [[nodiscard]] std::string folder_of(VariantId id) const {
    return fmt::format("{}/{}", arguments_.round_dir, id);
  }

  // Makes the variant a runner, or adds an admission with the reason why it is not one.
  Status admit(VariantId id) {
    TRY_ASSIGN(auto variant, steps::read_variant(folder_of(id), cases_, Judged::before_times));
    if (variant.rejection) {
      admissions_.push_back({id, false, "rejected: " + variant.rejection->kind});
      return {};
    }
    std::map<std::string, search::Ratio> ratios;
    for (const search::BenchCase& one : benches_) {
      const std::string path = fmt::format("{}/{}/screening.json", folder_of(id), one.name);
      TRY_ASSIGN(auto record, steps::read_json(path));
      const std::string verdict = record.value("verdict", "");
      if (verdict != "ok") {
        admissions_.push_back({id, false,
                               verdict == "not_reached" ? "ruled out before it was measured"
                                                        : "rejected while it was measured"});
        return {};
      }
      TRY_ASSIGN(auto samples, search::read_samples(record, path));
      const search::Decision decision = search::decide(samples, {});
      if (decision.comparison == search::Comparison::not_comparable) {
        admissions_.push_back({id, false, decision.reason});
        return {};
      }
      ratios[one.name] = decision.ratio;
    }
    runners_.push_back({id, search::standing_of(ratios, benches_), variant.programs});
    return {};
  }

  // Reads the survivors of the round before; in the first round, the seed.
  [[nodiscard]] Result<std::vector<search::Contender>> read_leaders() const {
    if (arguments_.previous.empty()) return std::vector<search::Contender>{{}};
    TRY_ASSIGN(auto previous, steps::read_previous(arguments_.previous));
    std::vector<search::Contender> out;
    for (const search::Survivor& one : previous.survivors) {
      const search::Evaluated& survivor = one.variant;
      out.push_back(
          {survivor.id, search::standing_of(survivor.ratios, benches_), survivor.programs});
    }
    return out;
  }

  const Arguments& arguments_;
  std::vector<search::CaseRecord> cases_;
  std::vector<search::BenchCase> benches_;
  std::vector<search::Contender> runners_;
  std::vector<search::Admission> admissions_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("race", "select the variants of a round to measure again");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--top-k", arguments.top_k, "number of lineages that survive").required().above(0);
  line.add("--finalists", arguments.finalists, "largest number of variants to measure again")
      .required()
      .above(0);
  line.add("--previous", arguments.previous, "selection.json of the previous round");
  steps::add_ids(line, "--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  line.add("--must-be-new", arguments.must_be_new, "reject near-duplicates");
  line.add("--out", arguments.out, "race.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return Race(arguments).run(); });
}
