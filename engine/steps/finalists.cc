// Step finalists: which of a round's variants may survive by their modelled times. Their large
// timed cases are compared with the reference; that of the others is not worth it.
#include "engine/search/selection/cut.h"
#include "engine/search/selection/race.h"
#include "engine/search/selection/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

// More are compared than may survive: the comparison rejects some.
constexpr size_t kSpare = 2;
// Modelled times that are nearer than this share may be in either order.
constexpr double kResolution = 0.03;

struct Arguments {
  std::string spec, previous, round_dir, seed_dir, out;
  std::vector<std::string> variants;
  size_t top_k = 1;
  bool must_be_new = false;
};

// Ratios are by the seed's times, or by one second where the seed has none.
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
    std::vector<search::Runner> leaders;
    TRY(read_leaders(seed, leaders));
    cases_ = steps::judged_in_round(std::move(cases), arguments_.must_be_new);
    std::vector<search::Runner> runners;
    for (const std::string& id : arguments_.variants) {
      TRY(admit(id, runners));
    }
    const size_t most = arguments_.top_k + kSpare;
    for (search::RaceEntry& entry : search::race(runners, leaders, most, most)) {
      entries_.push_back(std::move(entry));
    }
    return steps::write_admissions(entries_, arguments_.round_dir, "finalists.json",
                                   arguments_.out);
  }

 private:
  [[nodiscard]] std::string folder_of(const std::string& id) const {
    return arguments_.round_dir + "/" + id;
  }

  [[nodiscard]] std::optional<search::Runner> runner_of(const search::Evaluated& variant) const {
    auto ratio = search::modelled_ratio(variant.seconds, unit_, benches_);
    if (!ratio) return std::nullopt;
    return search::Runner{variant.id, {*ratio, kResolution}, variant.programs};
  }

  // Makes the variant a runner, or puts it among the entries with why it is none.
  Status admit(const std::string& id, std::vector<search::Runner>& runners) {
    TRY_ASSIGN(auto variant, steps::read_variant(folder_of(id), cases_, Judged::before_values));
    auto runner = runner_of(variant);
    if (variant.rejection) {
      entries_.push_back({id, false, "rejected: " + variant.rejection->kind});
    } else if (!runner) {
      entries_.push_back({id, false, "it has no time"});
    } else {
      runners.push_back(*std::move(runner));
    }
    return {};
  }

  // The survivors of the round before; in the first round, the seed.
  Status read_leaders(const search::Evaluated& seed, std::vector<search::Runner>& out) const {
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
  std::vector<search::RaceEntry> entries_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("the variants of a round that may survive", "finalists");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--top-k", arguments.top_k, "lineages that survive").required().above(0);
  line.add("--previous", arguments.previous, "selection.json of the round before");
  line.add("--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "holds a folder for each variant").required();
  line.add("--seed-dir", arguments.seed_dir, "the seed's folder").required();
  line.add("--must-be-new", arguments.must_be_new, "near-duplicates are rejected");
  line.add("--out", arguments.out, "finalists.json").required();
  return line.run(argc, argv, [&]() -> Status { return Finalists(arguments).run(); });
}
