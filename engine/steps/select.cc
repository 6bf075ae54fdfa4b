// Step select: the round's survivors, and the sources of their lineages for the next round.
#include <algorithm>
#include <type_traits>

#include "engine/core/crypto/sha256.h"
#include "engine/core/path.h"
#include "engine/search/history/history.h"
#include "engine/search/learning/learn.h"
#include "engine/search/proposal/mutation.h"
#include "engine/search/selection/population.h"
#include "engine/search/selection/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, previous, history, cut, round_dir, seed_dir, seed_kernel, out, history_out,
      by_person, learnings_out;
  double effect = 0.05;
  std::vector<VariantId> variants;
  std::vector<std::string> lineages_out, evidence_out;
  int round = 1;
  bool must_be_new = false;
  search::SelectionRule rule;
  uint64_t random_seed = 0;
};

// Sets the digests by which the campaign knows a variant's source and its structure.
Status identify(search::Evaluated& variant, const std::string& folder,
                const std::vector<std::string>& parameters) {
  TRY_ASSIGN(auto canonical, world::read_file(folder + "/canonical.py"));
  variant.source = sha256(canonical);
  variant.structure = sha256(search::without_parameters(canonical, parameters));
  return {};
}

Result<search::SelectionRequest> read_request(const Arguments& arguments) {
  TRY_ASSIGN(auto cases, steps::read_spec(arguments.spec));
  TRY_ASSIGN(auto space, steps::read_space(arguments.spec));
  const std::vector<std::string> parameters = space.names();
  search::SelectionRequest request;
  request.round = arguments.round;
  request.rule = arguments.rule;
  request.random_seed = arguments.random_seed;
  request.cases = steps::benches_of(cases);
  TRY_ASSIGN(auto seed, steps::read_variant(arguments.seed_dir, cases));
  request.seed = std::move(seed);
  if (auto status = identify(request.seed, arguments.seed_dir, parameters); !status)
    return status.error();
  TRY_ASSIGN(auto cut, steps::read_cut(arguments.cut));
  const auto in_round = steps::judged_in_round(cases, arguments.must_be_new);
  for (const VariantId id : arguments.variants) {
    const auto said = cut.find(id);
    const bool is_measured = said == cut.end() || said->second.is_in;
    const std::string folder = fmt::format("{}/{}", arguments.round_dir, id);
    auto variant =
        steps::read_variant(folder, in_round, is_measured ? Judged::whole : Judged::before_times);
    if (!variant) return std::move(variant).error();
    if (auto status = identify(*variant, folder, parameters); !status) return status.error();
    if (!is_measured) variant->ruled_out = said->second.reason;
    variant->is_spot_check = said != cut.end() && said->second.is_spot_check;
    request.variants.push_back(*std::move(variant));
  }
  if (arguments.previous.empty()) return request;
  TRY_ASSIGN(auto previous, steps::read_previous(arguments.previous));
  request.before = std::move(previous.survivors);
  request.places = std::move(previous.places);
  request.lineages_made = previous.lineages_made;
  request.model = previous.model;
  return request;
}

// Returns the path of a survivor's source: this round's kernel, the lineage file next to the
// previous selection, or the seed.
std::string source_of(const Arguments& arguments, const search::SelectionRequest& request,
                      VariantId id) {
  for (const search::Evaluated& variant : request.variants) {
    if (variant.id == id) return fmt::format("{}/{}/kernel.py", arguments.round_dir, id);
  }
  const std::string folder = folder_prefix(arguments.previous);
  for (size_t i = 0; i < request.before.size(); ++i) {
    if (request.before[i].variant.id == id) return fmt::format("{}lineage-{}.py", folder, i + 1);
  }
  return arguments.seed_kernel;
}

// Writes a source for each lineage. A lineage without a survivor starts from the seed again.
Status write_lineages(const Arguments& arguments, const search::SelectionRequest& request,
                      const search::Selection& selection) {
  for (size_t i = 0; i < arguments.lineages_out.size(); ++i) {
    std::string path = i < selection.survivors.size()
                           ? source_of(arguments, request, selection.survivors[i].variant.id)
                           : arguments.seed_kernel;
    TRY_ASSIGN(auto source, world::read_file(path));
    TRY(world::write_file_atomic(arguments.lineages_out[i], source));
  }
  return {};
}

// Returns the compiler's evidence about a survivor, by case: this round's facts, the file next to
// the previous selection, or the seed's facts.
Result<nlohmann::json> evidence_of(const Arguments& arguments,
                                   const search::SelectionRequest& request, VariantId id) {
  std::string folder = arguments.seed_dir;
  for (const search::Evaluated& variant : request.variants) {
    if (variant.id == id) folder = fmt::format("{}/{}", arguments.round_dir, id);
  }
  for (size_t i = 0; i < request.before.size(); ++i) {
    if (request.before[i].variant.id == id)
      return steps::read_json(
          fmt::format("{}evidence-{}.json", folder_prefix(arguments.previous), i + 1));
  }
  return steps::read_evidence(folder, request.cases);
}

Status write_evidence(const Arguments& arguments, const search::SelectionRequest& request,
                      const search::Selection& selection) {
  for (size_t i = 0; i < arguments.evidence_out.size(); ++i) {
    const VariantId id =
        i < selection.survivors.size() ? selection.survivors[i].variant.id : request.seed.id;
    TRY_ASSIGN(auto evidence, evidence_of(arguments, request, id));
    TRY(steps::write_json(arguments.evidence_out[i], evidence));
  }
  return {};
}

// Writes the history: the lines of the rounds before, then this round's. Returns all of them.
Result<search::History> write_history(const Arguments& arguments,
                                      const search::SelectionRequest& request,
                                      const search::Selection& selection) {
  auto history = steps::read_history(arguments.history);
  if (!history) return std::move(history).error();
  const search::History own = search::history_of_round(*history, request, selection);
  history->insert(history->end(), own.begin(), own.end());
  auto status = world::write_file_atomic(arguments.history_out, search::history_lines(*history));
  if (!status) return status.error();
  return history;
}

// Writes the learnings of the campaign so far.
Status write_learnings(const Arguments& arguments, const search::History& history,
                       const search::Selection& selection) {
  TRY_ASSIGN(auto by_person, steps::read_learnings(arguments.by_person));
  TRY_ASSIGN(auto spec, steps::read_json(arguments.spec));
  TRY_ASSIGN(auto rule, search::learn_rule(selection, spec, arguments.effect));
  const search::Lessons lessons = search::learn(history, by_person, rule, search::Proposals::none);
  return world::write_file_atomic(arguments.learnings_out,
                                  search::write_learnings(lessons.accepted));
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("select", "select the survivors of a round");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--round", arguments.round).required().above(0);
  search::visit_settings(arguments.rule, [&](const search::RuleSetting& setting, auto& value) {
    std::string flag = fmt::format("--{}", setting.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    auto added = line.add(flag, value, setting.help);
    if constexpr (std::is_same_v<decltype(value), int&>) added.above(0);
    if constexpr (std::is_same_v<decltype(value), std::string&>)
      added.one_of(search::policy_names());
  });
  line.add("--random-seed", arguments.random_seed);
  line.add("--previous", arguments.previous,
           "selection.json of the previous round, next to its lineage-K.py files");
  line.add("--history", arguments.history, "history.jsonl of the previous round");
  line.add("--cut", arguments.cut, "cut.json, if the round has one");
  line.add("--must-be-new", arguments.must_be_new, "reject near-duplicates");
  steps::add_ids(line, "--variants", arguments.variants, "v0001,v0002,…").required().separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  line.add("--seed-dir", arguments.seed_dir, "the seed's folder").required();
  line.add("--seed-kernel", arguments.seed_kernel, "the seed's source").required();
  line.add("--out", arguments.out, "selection.json").required();
  line.add("--evidence-out", arguments.evidence_out, "evidence-K.json, next to lineage-K.py");
  line.add("--history-out", arguments.history_out, "history.jsonl").required();
  line.add("--by-person", arguments.by_person, "the learnings that people accepted or rejected");
  line.add("--effect", arguments.effect, "smallest gain that is worth learning, as a share")
      .at_least(0);
  line.add("--learnings-out", arguments.learnings_out, "learnings.md").required();
  line.add("--lineage-out", arguments.lineages_out,
           "lineage-K.py, one for each variant that may survive")
      .required();
  return steps::run_step(line, argc, argv, [&]() -> Status {
    TRY_ASSIGN(auto request, read_request(arguments));
    TRY_ASSIGN(auto selection, search::select(request));
    TRY(write_lineages(arguments, request, selection));
    TRY(write_evidence(arguments, request, selection));
    TRY_ASSIGN(auto history, write_history(arguments, request, selection));
    TRY(write_learnings(arguments, history, selection));
    return steps::write_json(arguments.out, search::selection_record(selection));
  });
}
