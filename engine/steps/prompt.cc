// Step prompt: what a model is asked for one variant; nothing is asked yet.
#include "engine/llm/prompt.h"

#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, config, templates, selection, evidence, out;
  std::string parent, parent_id, second_parent, second_parent_id, rejected, rejected_id;
  std::string id;
  int round = 0, index = 0;
  uint64_t random_seed = 0;
};

// A record, or null where it is not given.
Result<nlohmann::json> read_optional(const std::string& path) {
  return path.empty() ? Result<nlohmann::json>(nlohmann::json()) : steps::read_json(path);
}

Result<llm::Source> read_source(const std::string& path, const std::string& id) {
  if (path.empty()) return llm::Source{};
  auto text = world::read_file(path);
  if (!text) return std::move(text).error();
  return llm::Source{id, *std::move(text)};
}

Status run(const Arguments& arguments) {
  auto config_record = steps::read_json(arguments.config);
  if (!config_record) return std::move(config_record).error();
  auto config = llm::read_config(*config_record);
  if (!config) return std::move(config).error().within(arguments.config);
  auto templates = llm::Templates::read(
      arguments.templates, [](const std::string& path) { return world::read_file(path); });
  if (!templates) return std::move(templates).error();
  auto spec = steps::read_json(arguments.spec);
  if (!spec) return std::move(spec).error();
  auto selection = read_optional(arguments.selection);
  if (!selection) return std::move(selection).error();
  auto evidence = read_optional(arguments.evidence);
  if (!evidence) return std::move(evidence).error();
  auto parent = read_source(arguments.parent, arguments.parent_id);
  if (!parent) return std::move(parent).error();
  auto second = read_source(arguments.second_parent, arguments.second_parent_id);
  if (!second) return std::move(second).error();
  auto rejected = read_source(arguments.rejected, arguments.rejected_id);
  if (!rejected) return std::move(rejected).error();
  const llm::PromptRequest request{
      *std::move(config), *std::move(spec),   *std::move(evidence), llm::read_history(*selection),
      *std::move(parent), *std::move(second), *std::move(rejected), arguments.id,
      arguments.round,    arguments.index,    arguments.random_seed};
  return steps::write_json(arguments.out, llm::make_prompt(request, *templates));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("what a model is asked for one variant", "prompt");
  Arguments arguments;
  app.add_option("--spec", arguments.spec, "spec.json")->required();
  app.add_option("--config", arguments.config, "llm.json")->required();
  app.add_option("--templates", arguments.templates, "folder of system.md, rewrite.md, …")
      ->required();
  app.add_option("--selection", arguments.selection, "selection.json of the round before");
  app.add_option("--evidence", arguments.evidence, "evidence.json");
  auto* parent_id = app.add_option("--parent-id", arguments.parent_id, "v0003")->required();
  app.add_option("--parent", arguments.parent, "its kernel.py")->required()->needs(parent_id);
  auto* second_id = app.add_option("--second-parent-id", arguments.second_parent_id);
  auto* second = app.add_option("--second-parent", arguments.second_parent, "for crossover");
  second->needs(second_id);
  second_id->needs(second);
  auto* rejected_id = app.add_option("--rejected-id", arguments.rejected_id);
  auto* rejected = app.add_option("--rejected", arguments.rejected, "for repair");
  rejected->needs(rejected_id);
  rejected_id->needs(rejected);
  app.add_option("--id", arguments.id, "v0007")->required();
  app.add_option("--round", arguments.round)->required()->check(CLI::NonNegativeNumber);
  app.add_option("--index", arguments.index, "the variant's place in the round, from 0")
      ->required()
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--random-seed", arguments.random_seed);
  app.add_option("--out", arguments.out, "prompt.json")->required();
  return evolve::steps::run_step(app, argc, argv, [&]() -> Status { return run(arguments); });
}
