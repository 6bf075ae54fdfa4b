// Step cut: the choice of a round's variants that are measured at all. The choice depends on the
// variants' modelled times.
#include "engine/search/selection/cut.h"

#include "engine/search/selection/selection_record.h"
#include "engine/search/space/random.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;
using nlohmann::json;

struct Arguments {
  std::string spec, previous, round_dir, seed_dir, out;
  std::vector<VariantId> variants;
  size_t top_k = 1;
  double margin = 0;
  uint64_t random_seed = 0, round = 1;
  bool must_be_new = false;
};

class Cut {
 public:
  explicit Cut(const Arguments& arguments) : arguments_(arguments) {}

  Status run() {
    TRY_ASSIGN(auto cases, steps::read_spec(arguments_.spec));
    cases_ = std::move(cases);
    benches_ = steps::benches_of(cases_);
    TRY_ASSIGN(auto seed, steps::read_variant(arguments_.seed_dir, cases_, Judged::before_times));
    of_seed_ = seed.modelled;
    cases_ = steps::judged_in_round(std::move(cases_), arguments_.must_be_new);
    if (arguments_.previous.empty()) leaders_.push_back({seed.id, {}, seed.programs});
    for (const VariantId id : arguments_.variants) {
      TRY(admit(id));
    }
    TRY(read_previous());
    const double width = search::cut_width(arguments_.margin, model_);
    const uint64_t draw = search::Random(arguments_.random_seed, arguments_.round).next();
    for (const search::Admission& admission :
         search::cut(modelled_, leaders_, arguments_.top_k, width, draw)) {
      json& one = entries_[admission.id];
      one["is_in"] = admission.is_in;
      if (!admission.reason.empty()) one["reason"] = admission.reason;
      if (admission.is_spot_check) one["spot_check"] = true;
    }
    return write(std::expm1(width));
  }

 private:
  [[nodiscard]] std::string folder_of(VariantId id) const {
    return fmt::format("{}/{}", arguments_.round_dir, id);
  }

  // Makes a variant's entry. A rejected variant is not measured, and the others are not compared
  // with it. A variant without a modelled time is measured.
  Status admit(VariantId id) {
    TRY_ASSIGN(auto variant, steps::read_variant(folder_of(id), cases_, Judged::before_times));
    if (variant.rejection) {
      entries_[id] = {{"is_in", false}, {"reason", "rejected: " + variant.rejection->kind}};
      return {};
    }
    entries_[id] = {{"is_in", true}};
    if (auto ratio = search::modelled_ratio(variant.modelled, of_seed_, benches_)) {
      modelled_.push_back({id, {*ratio}, variant.programs});
      entries_[id]["modelled"] = search::rounded(std::exp(*ratio));
    } else {
      entries_[id]["reason"] = "the model gives no time for the variant or for the seed";
    }
    return {};
  }

  // Reads the leaders, which are the survivors of the round before, and the error of the model so
  // far. In the first round the seed is the leader already.
  Status read_previous() {
    if (arguments_.previous.empty()) return {};
    TRY_ASSIGN(auto previous, steps::read_previous(arguments_.previous));
    model_ = previous.model;
    for (const search::Survivor& one : previous.survivors) {
      const search::Evaluated& survivor = one.variant;
      if (auto ratio = search::modelled_ratio(survivor.modelled, of_seed_, benches_))
        leaders_.push_back({survivor.id, {*ratio}, survivor.programs});
    }
    return {};
  }

  [[nodiscard]] Status write(double margin) const {
    json all = json::array();
    for (const VariantId id : arguments_.variants) {
      json one = entries_.at(id);
      const bool is_in = one["is_in"].get<bool>();
      one["variant"] = id;
      all.push_back(std::move(one));
      TRY(steps::write_admission(folder_of(id) + "/cut.json", is_in));
    }
    return steps::write_json(arguments_.out,
                             {{"margin", search::rounded(margin)}, {"variants", all}});
  }

  const Arguments& arguments_;
  std::vector<search::CaseRecord> cases_;
  std::vector<search::BenchCase> benches_;
  std::map<std::string, double> of_seed_;
  std::vector<search::Contender> modelled_;
  std::vector<search::Contender> leaders_;
  search::ModelError model_;
  std::map<VariantId, json> entries_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("cut", "select the variants of a round to measure");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--top-k", arguments.top_k, "number of lineages that survive").required().above(0);
  line.add("--margin", arguments.margin,
           "rule out variants that are this much slower than the best, for example 0.2")
      .required()
      .at_least(0);
  line.add("--random-seed", arguments.random_seed, "random seed that draws the spot checks")
      .required();
  line.add("--round", arguments.round).required().above(0);
  line.add("--previous", arguments.previous, "selection.json of the previous round");
  steps::add_ids(line, "--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  line.add("--seed-dir", arguments.seed_dir, "the seed's folder").required();
  line.add("--must-be-new", arguments.must_be_new, "reject near-duplicates");
  line.add("--out", arguments.out, "cut.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return Cut(arguments).run(); });
}
