// Step finalists: the choice, by modelled times, of the variants of a round that may survive. Large
// timed cases are compared with the reference only for these variants, because for the others the
// comparison is not worth the cost.
#include "engine/search/selection/cut.h"
#include "engine/search/selection/race.h"
#include "engine/search/selection/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

// So many more variants are compared than may survive, because the comparison rejects some.
constexpr size_t kSpare = 2;
// Half the width of a modelled time's interval, in logarithms. Overlapping intervals have no order.
constexpr double kResolution = 0.03;

struct Arguments {
  std::string spec, previous, round_dir, seed_dir, out;
  std::vector<VariantId> variants;
  size_t top_k = 1;
  bool must_be_new = false;
};

// The choice of the finalists. Ratios are relative to the seed's times, or to one second if the
// seed was rejected.
class Finalists {
 public:
  explicit Finalists(const Arguments& arguments) : arguments_(arguments) {}

  Status run() {
    TRY_ASSIGN(auto cases, steps::read_spec(arguments_.spec));
    benches_ = steps::benches_of(cases);
    TRY_ASSIGN(auto seed, steps::read_variant(arguments_.seed_dir, cases, Judged::before_values));
    unit_ = seed.seconds;
    if (seed.rejection) {
      for (const search::BenchCase& one : benches_) unit_[one.name] = 1;
    }
    std::vector<search::Contender> leaders;
    TRY(read_leaders(seed, leaders));
    cases_ = steps::judged_in_round(std::move(cases), arguments_.must_be_new);
    std::vector<search::Contender> runners;
    for (const VariantId id : arguments_.variants) {
      TRY(admit(id, runners));
    }
    const size_t most = arguments_.top_k + kSpare;
    for (search::Admission& admission : search::race(runners, leaders, most, most)) {
      admissions_.push_back(std::move(admission));
    }
    return steps::write_admissions(admissions_, arguments_.round_dir, "finalists.json",
                                   arguments_.out);
  }

 private:
  [[nodiscard]] std::string folder_of(VariantId id) const {
    return fmt::format("{}/{}", arguments_.round_dir, id);
  }

  [[nodiscard]] std::optional<search::Contender> runner_of(const search::Evaluated& variant) const {
    auto ratio = search::modelled_ratio(variant.seconds, unit_, benches_);
    if (!ratio) return std::nullopt;
    return search::Contender{variant.id, {*ratio, kResolution}, variant.programs};
  }

  // Makes the variant a runner, or adds an admission with the reason why it is not one.
  Status admit(VariantId id, std::vector<search::Contender>& runners) {
    TRY_ASSIGN(auto variant, steps::read_variant(folder_of(id), cases_, Judged::before_values));
    auto runner = runner_of(variant);
    if (variant.rejection) {
      admissions_.push_back({id, false, "rejected: " + variant.rejection->kind});
    } else if (!runner) {
      admissions_.push_back({id, false, "it has no time"});
    } else {
      runners.push_back(*std::move(runner));
    }
    return {};
  }

  // Reads the survivors of the round before; in the first round, the seed unless it was rejected.
  Status read_leaders(const search::Evaluated& seed, std::vector<search::Contender>& out) const {
    if (arguments_.previous.empty()) {
      if (!seed.rejection) out.push_back({seed.id, {0, 0}, seed.programs});
      return {};
    }
    TRY_ASSIGN(auto previous, steps::read_previous(arguments_.previous));
    for (const search::Survivor& one : previous.survivors) {
      if (auto runner = runner_of(one.variant)) out.push_back(*std::move(runner));
    }
    return {};
  }

  const Arguments& arguments_;
  std::vector<search::CaseRecord> cases_;
  std::vector<search::BenchCase> benches_;
  std::map<std::string, double> unit_;
  std::vector<search::Admission> admissions_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("finalists", "select the variants of a round that may survive");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--top-k", arguments.top_k, "number of lineages that survive").required().above(0);
  line.add("--previous", arguments.previous, "selection.json of the previous round");
  steps::add_ids(line, "--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  line.add("--seed-dir", arguments.seed_dir, "the seed's folder").required();
  line.add("--must-be-new", arguments.must_be_new, "reject near-duplicates");
  line.add("--out", arguments.out, "finalists.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return Finalists(arguments).run(); });
}
