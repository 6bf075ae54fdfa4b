// Step mutate: the kernels of the variants that one mutator proposes for a round. Mutator `seed`
// copies the seed; `sweep` changes the values of the parameters.
#include "engine/search/history/novelty.h"
#include "engine/search/proposal/mutation.h"
#include "engine/search/space/sampler.h"
#include "engine/search/space/sweep.h"
#include "engine/steps/parents.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string mutator = "sweep", sampler = "local";
  std::string spec, history, round_dir;
  steps::ParentFiles files;
  std::vector<VariantId> ids;
  std::vector<size_t> places;
  int round = 0;
  uint64_t random_seed = 0;
  double explore = 0.25;
};

// A parent's kernel.
struct Source {
  steps::ParentFile file;
  std::string text;
  search::Point point;
};

Result<Source> read_source(const steps::ParentFile& file, const search::Space& space) {
  TRY_ASSIGN(auto text, world::read_file(file.path));
  auto point = search::read_parameters(text, space.names());
  if (!point) return std::move(point).error().within(file.path);
  return Source{file, std::move(text), *std::move(point)};
}

Status write_variant(const Arguments& arguments, const std::string& kernel,
                     const search::Origin& origin) {
  const std::string folder = fmt::format("{}/{}", arguments.round_dir, origin.id);
  TRY(world::write_file_atomic(folder + "/kernel.py", kernel));
  return steps::write_json(folder + "/variant.json", search::variant_record(origin));
}

Status copy_seed(const Arguments& arguments, const search::Space& space) {
  TRY_ASSIGN(auto parents, steps::Parents::read(arguments.files));
  TRY_ASSIGN(auto seed, read_source(parents.seed(), space));
  search::Origin origin;
  origin.id = arguments.ids.front();
  origin.round = arguments.round;
  origin.mutator = "seed";
  origin.parameters = seed.point;
  origin.note = "the seed";
  return write_variant(arguments, seed.text, origin);
}

class Sweep {
 public:
  Sweep(const Arguments& arguments, const search::Space& space)
      : arguments_(arguments), space_(space) {}

  Status run() {
    TRY_ASSIGN(auto history, steps::read_history(arguments_.history));
    history_ = std::move(history);
    TRY(read_parents());
    // Only places with parents of the same structure are swept together. What is known about a
    // point of one structure says nothing about the same point of another.
    for (size_t number = 0; number < groups_.size(); ++number) {
      TRY(propose(groups_[number], number));
    }
    return {};
  }

 private:
  // Parents of one island that differ only in their parameters, and whose children are wanted.
  struct Group {
    std::vector<Source> parents;  // at least one
    std::vector<VariantId> ids;
    std::vector<search::SweepPlace> places;  // one for each id
  };

  // Reads the parents of the round's places. A parent without parameters, such as a model's kernel,
  // gives way to the seed, because it has nothing to sweep.
  Status read_parents() {
    TRY_ASSIGN(auto parents, steps::Parents::read(arguments_.files));
    // The places are counted over the whole campaign, so that rounds and groups with few places
    // explore, too.
    const auto before = static_cast<size_t>(
        std::count_if(history_.begin(), history_.end(),
                      [](const search::PastVariant& past) { return past.mutator == "sweep"; }));
    for (size_t i = 0; i < arguments_.ids.size(); ++i) {
      steps::ParentFile parent = parents.of_place(arguments_.places.at(i));
      if (!parent.has_parameters) parent = parents.seed();
      if (parent.structure.empty() && !history_.empty())
        parent.structure = history_.front().structure;
      const bool explores = search::explores(before + i, arguments_.explore);
      TRY(want(arguments_.ids[i], parent, explores));
    }
    return {};
  }

  // Asks for the variant `id` as a child of `parent`.
  Status want(VariantId id, const steps::ParentFile& parent, bool explores) {
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& one) {
      const steps::ParentFile& its = one.parents.front().file;
      return its.island == parent.island && its.structure == parent.structure;
    });
    if (group == groups_.end()) group = groups_.insert(group, Group{});
    auto& parents = group->parents;
    auto known = std::find_if(parents.begin(), parents.end(),
                              [&](const Source& one) { return one.file.id == parent.id; });
    group->ids.push_back(id);
    group->places.push_back({static_cast<size_t>(known - parents.begin()), explores});
    if (known != parents.end()) return {};
    TRY_ASSIGN(auto source, read_source(parent, space_));
    parents.push_back(std::move(source));
    return {};
  }

  // Proposes the variants of a group. Each group of a round draws from a stream of its own, so that
  // two islands do not explore the same points.
  Status propose(const Group& group, size_t number) {
    constexpr unsigned kRoundBits = 32;
    const uint64_t stream =
        (uint64_t{number} << kRoundBits) + static_cast<uint64_t>(arguments_.round);
    search::SweepRequest request{.space = space_,
                                 .sampler = arguments_.sampler,
                                 .random_seed = arguments_.random_seed,
                                 .stream = stream,
                                 .places = group.places};
    for (const Source& parent : group.parents)
      request.parents.push_back({parent.file.id, parent.point});
    for (const search::PastVariant& past : history_) {
      if (past.structure != group.parents.front().file.structure) continue;
      if (search::is_near_duplicate(past)) continue;  // a duplicate says nothing about the point
      request.trials.push_back(
          {past.parameters, past.score ? std::optional(1 / *past.score) : std::nullopt});
    }
    TRY_ASSIGN(auto proposals, search::propose(request));
    for (size_t i = 0; i < group.ids.size(); ++i) {
      const search::SweepVariant& proposal = proposals[i];
      const Source& parent = group.parents.at(proposal.parent);
      auto kernel = search::write_parameters(parent.text, proposal.point);
      if (!kernel) return std::move(kernel).error().within(parent.file.path);
      search::Origin origin;
      origin.id = group.ids[i];
      origin.round = arguments_.round;
      origin.mutator = "sweep";
      origin.parents = {parent.file.id};
      origin.parameters = proposal.point;
      origin.note = proposal.note;
      TRY(write_variant(arguments_, *kernel, origin));
    }
    return {};
  }

  const Arguments& arguments_;
  const search::Space& space_;
  search::History history_;
  std::vector<Group> groups_;
};

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("mutate", "write the kernels that a mutator proposes for a round");
  Arguments arguments;
  line.add("--mutator", arguments.mutator, "seed: copy the seed; sweep: change the parameters")
      .one_of({"seed", "sweep"});
  line.add("--sampler", arguments.sampler, "the sampler of the sweep")
      .one_of(search::sampler_names());
  line.add("--spec", arguments.spec, "spec.json").required();
  arguments.files.add_options(line);
  line.add("--history", arguments.history, "history.jsonl of the previous round");
  line.add("--round", arguments.round).at_least(0);
  line.add("--random-seed", arguments.random_seed);
  line.add("--explore", arguments.explore, "share of proposals drawn from the whole space")
      .between(0.0, 1.0);
  steps::add_ids(line, "--ids", arguments.ids, "the ids of the proposed variants: v0007,v0009,…")
      .required()
      .separated();
  line.add("--places", arguments.places, "the variants' places in the round, from 0").separated();
  line.add("--round-dir", arguments.round_dir, "folder that holds a folder for each variant")
      .required();
  return steps::run_step(line, argc, argv, [&]() -> Status {
    TRY_ASSIGN(auto space, steps::read_space(arguments.spec));
    if (arguments.mutator == "seed") return copy_seed(arguments, space);
    if (arguments.places.size() != arguments.ids.size()) {
      return bad_input(fmt::format("--places: expected {} places, one for each of --ids, got {}",
                                   arguments.ids.size(), arguments.places.size()));
    }
    return Sweep(arguments, space).run();
  });
}
