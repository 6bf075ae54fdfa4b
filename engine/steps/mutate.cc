// Step mutate: the kernel of one variant. Mutator `seed` copies the seed; `sweep` computes the
// proposals of the whole round, the same in each of its edges, and takes the one at --index.
#include "engine/search/mutation.h"
#include "engine/search/sampler.h"
#include "engine/search/selection_record.h"
#include "engine/search/sweep.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string mutator = "sweep";
  std::string sampler = "local";
  std::string spec, seed, selection, id, kernel_out, variant_out;
  std::vector<std::string> lineages;
  int round = 0, index = 0, count = 1;
  uint64_t random_seed = 0;
  double explore = 0.25;
};

// A parent's kernel.
struct Source {
  std::string id;
  std::string path;
  std::string text;
  search::Point point;
};

Status write_variant(const Arguments& arguments, const std::string& kernel,
                     const nlohmann::json& record) {
  if (auto status = world::write_file_atomic(arguments.kernel_out, kernel); !status) return status;
  return steps::write_json(arguments.variant_out, record);
}

Result<Source> read_source(const std::string& id, const std::string& path,
                           const search::Space& space) {
  auto text = world::read_file(path);
  if (!text) return std::move(text).error();
  auto point = search::read_parameters(*text, space.names());
  if (!point) return std::move(point).error().within(path);
  return Source{id, path, *std::move(text), *std::move(point)};
}

// The parents of the round: the survivors of the round before; where there is none, the seed.
Result<std::vector<Source>> read_parents(const Arguments& arguments, const search::Space& space,
                                         std::vector<search::Trial>& trials) {
  std::vector<Source> out;
  auto add = [&](const std::string& id, const std::string& path) -> Status {
    auto source = read_source(id, path, space);
    if (!source) return std::move(source).error();
    out.push_back(*std::move(source));
    return {};
  };
  if (!arguments.selection.empty()) {
    auto record = steps::read_json(arguments.selection);
    if (!record) return std::move(record).error();
    auto previous = search::read_selection(*record);
    if (!previous) return std::move(previous).error().within(arguments.selection);
    // What they cost is not recorded.
    for (const search::Point& point : previous->tried) trials.push_back({point, std::nullopt});
    for (size_t i = 0; i < std::min(previous->survivors.size(), arguments.lineages.size()); ++i) {
      if (auto status = add(previous->survivors[i].id, arguments.lineages[i]); !status)
        return status.error();
    }
  }
  if (out.empty()) {
    if (auto status = add("v0000", arguments.seed); !status) return status.error();
  }
  return out;
}

Result<search::Space> read_space(const std::string& path) {
  auto spec = steps::read_json(path);
  if (!spec) return std::move(spec).error();
  return search::Space::from_spec_json(*spec);
}

Status copy_seed(const Arguments& arguments) {
  auto space = read_space(arguments.spec);
  if (!space) return std::move(space).error();
  auto seed = read_source(arguments.id, arguments.seed, *space);
  if (!seed) return std::move(seed).error();
  return write_variant(
      arguments, seed->text,
      search::variant_record(arguments.id, arguments.round, {}, "seed", seed->point, "the seed"));
}

Status sweep(const Arguments& arguments) {
  auto space = read_space(arguments.spec);
  if (!space) return std::move(space).error();
  search::SweepRequest request{
      *space,          arguments.sampler, {}, {}, arguments.random_seed, arguments.round,
      arguments.count, arguments.explore};
  auto parents = read_parents(arguments, *space, request.trials);
  if (!parents) return std::move(parents).error();
  for (const Source& parent : *parents) request.parents.push_back({parent.id, parent.point});
  auto proposals = search::propose(request);
  if (!proposals) return std::move(proposals).error();
  const search::Proposal& proposal = proposals->at(static_cast<size_t>(arguments.index));
  const Source& parent = parents->at(proposal.parent);
  auto kernel = search::write_parameters(parent.text, proposal.point);
  if (!kernel) return std::move(kernel).error().within(parent.path);
  return write_variant(arguments, *kernel,
                       search::variant_record(arguments.id, arguments.round, {parent.id}, "sweep",
                                              proposal.point, proposal.note));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("the kernel of one variant", "mutate");
  Arguments arguments;
  app.add_option("--mutator", arguments.mutator, "seed: a copy of it; sweep: other parameters")
      ->check(CLI::IsMember({"seed", "sweep"}));
  app.add_option("--sampler", arguments.sampler, "what draws a sweep's proposals (default: local)")
      ->check(CLI::IsMember(search::sampler_names()));
  app.add_option("--spec", arguments.spec, "spec.json")->required();
  app.add_option("--seed", arguments.seed, "the seed's source")->required();
  app.add_option("--selection", arguments.selection, "selection.json of the round before");
  app.add_option("--lineage", arguments.lineages, "the survivors' sources, in their order");
  app.add_option("--round", arguments.round)->check(CLI::NonNegativeNumber);
  app.add_option("--index", arguments.index, "the variant's place in the round, from 0")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--count", arguments.count, "variants of the round")->check(CLI::PositiveNumber);
  app.add_option("--random-seed", arguments.random_seed);
  app.add_option("--explore", arguments.explore, "share of proposals drawn from the whole space")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--id", arguments.id, "v0007")->required();
  app.add_option("--kernel-out", arguments.kernel_out, "kernel.py")->required();
  app.add_option("--variant-out", arguments.variant_out, "variant.json")->required();
  return steps::run_step(app, argc, argv, [&]() -> Status {
    if (arguments.mutator == "seed") return copy_seed(arguments);
    if (arguments.index >= arguments.count) {
      return bad_input(fmt::format("--index: expected less than --count {}, got {}",
                                   arguments.count, arguments.index));
    }
    return sweep(arguments);
  });
}
