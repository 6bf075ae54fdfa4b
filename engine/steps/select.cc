// Step select: the round's survivors, and the sources of their lineages for the next round.
#include "engine/search/selection_record.h"
#include "engine/steps/step.h"
#include "engine/steps/variant.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, previous, cut, round_dir, seed_dir, seed_kernel, out;
  std::vector<std::string> variants, lineages_out;
  int round = 1, top_k = 1;
};

Result<search::SelectionRequest> read_request(const Arguments& arguments) {
  auto cases = steps::read_spec(arguments.spec);
  if (!cases) return std::move(cases).error();
  search::SelectionRequest request;
  request.round = arguments.round;
  request.top_k = arguments.top_k;
  request.cases = steps::benches_of(*cases);
  auto seed = steps::read_variant(arguments.seed_dir, *cases);
  if (!seed) return std::move(seed).error();
  request.seed = *std::move(seed);
  auto cut = steps::read_cut(arguments.cut);
  if (!cut) return std::move(cut).error();
  for (const std::string& id : arguments.variants) {
    const nlohmann::json said = cut->contains(id) ? cut->at(id) : nlohmann::json::object();
    const bool is_measured = said.value("is_in", true);
    auto variant = steps::read_variant(arguments.round_dir + "/" + id, *cases, is_measured);
    if (!variant) return std::move(variant).error();
    if (!is_measured) variant->ruled_out = said.value("reason", "");
    variant->is_spot_check = said.value("spot_check", false);
    request.variants.push_back(*std::move(variant));
  }
  if (arguments.previous.empty()) return request;
  auto previous = steps::read_previous(arguments.previous);
  if (!previous) return std::move(previous).error();
  request.contenders = std::move(previous->survivors);
  request.tried = std::move(previous->tried);
  request.model = previous->model;
  return request;
}

// The source of a survivor: this round's kernel, the lineage file beside the previous selection, or
// the seed.
std::string source_of(const Arguments& arguments, const search::SelectionRequest& request,
                      const std::string& id) {
  for (const search::Evaluated& variant : request.variants) {
    if (variant.id == id) return fmt::format("{}/{}/kernel.py", arguments.round_dir, id);
  }
  std::string folder = arguments.previous.substr(0, arguments.previous.find_last_of('/') + 1);
  for (size_t i = 0; i < request.contenders.size(); ++i) {
    if (request.contenders[i].id == id) return fmt::format("{}lineage-{}.py", folder, i + 1);
  }
  return arguments.seed_kernel;
}

// Writes a source for each lineage; those without a survivor start from the seed again.
Status write_lineages(const Arguments& arguments, const search::SelectionRequest& request,
                      const search::Selection& selection) {
  for (size_t i = 0; i < arguments.lineages_out.size(); ++i) {
    std::string path = i < selection.survivors.size()
                           ? source_of(arguments, request, selection.survivors[i].variant.id)
                           : arguments.seed_kernel;
    auto source = world::read_file(path);
    if (!source) return std::move(source).error();
    if (auto status = world::write_file_atomic(arguments.lineages_out[i], *source); !status)
      return status;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("the survivors of a round", "select");
  Arguments arguments;
  app.add_option("--spec", arguments.spec, "spec.json")->required();
  app.add_option("--round", arguments.round)->required()->check(CLI::PositiveNumber);
  app.add_option("--top-k", arguments.top_k, "lineages that survive")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--previous", arguments.previous,
                 "selection.json of the round before, with its lineage-K.py beside it");
  app.add_option("--cut", arguments.cut, "cut.json, where the round had one");
  app.add_option("--variants", arguments.variants, "v0001,v0002,…")->required()->delimiter(',');
  app.add_option("--round-dir", arguments.round_dir, "holds a folder for each variant")->required();
  app.add_option("--seed-dir", arguments.seed_dir, "the seed's folder")->required();
  app.add_option("--seed-kernel", arguments.seed_kernel, "the seed's source")->required();
  app.add_option("--out", arguments.out, "selection.json")->required();
  app.add_option("--lineage-out", arguments.lineages_out, "lineage-K.py, one for each of --top-k")
      ->required();
  return steps::run_step(app, argc, argv, [&]() -> Status {
    if (static_cast<int>(arguments.lineages_out.size()) != arguments.top_k) {
      return bad_input(fmt::format("--lineage-out: expected {} of them, got {}", arguments.top_k,
                                   arguments.lineages_out.size()));
    }
    auto request = read_request(arguments);
    if (!request) return std::move(request).error();
    auto selection = search::select(*request);
    if (!selection) return std::move(selection).error();
    if (auto status = write_lineages(arguments, *request, *selection); !status) return status;
    return steps::write_json(arguments.out, search::selection_record(*selection));
  });
}
