// Step prompt: the question to a model for one variant. This step does not ask it yet.
#include "engine/llm/prompt.h"

#include "engine/search/space/random.h"
#include "engine/steps/parents.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string spec, config, templates, history, learnings, seed_dir, previous_dir, request_out, out;
  std::string plan;
  std::string stage = "code";
  double effect = 0.05;
  steps::ParentFiles files;
  std::vector<std::string> evidence;
  std::string id;
  int round = 0, place = 0, index = 0;
  uint64_t random_seed = 0;
};

Result<llm::Source> read_source(const steps::ParentFile* parent) {
  if (parent == nullptr) return llm::Source{};
  TRY_ASSIGN(auto text, world::read_file(parent->path));
  return llm::Source{parent->id.text(), std::move(text)};
}

// Reads the compiler's evidence about the parent.
Result<nlohmann::json> read_evidence(const Arguments& arguments, const steps::ParentFile& parent) {
  if (parent.lineage > 0 && parent.lineage <= arguments.evidence.size())
    return steps::read_json(arguments.evidence[parent.lineage - 1]);
  TRY_ASSIGN(auto cases, steps::read_spec(arguments.spec));
  return steps::read_evidence(arguments.seed_dir, steps::benches_of(cases));
}

// Returns the campaign so far, with the survivors' sources.
Result<llm::PromptHistory> read_campaign(const search::History& past,
                                         const steps::Parents& parents) {
  llm::PromptHistory out = llm::history_of(past, parents.previous().survivors);
  for (llm::Elite& elite : out.elites) {
    TRY_ASSIGN(auto source, read_source(parents.find(elite.id)));
    elite.source = std::move(source.text);
  }
  return out;
}

// Reads the learnings of the campaign, and the learnings that models proposed.
Result<search::Lessons> read_lessons(const Arguments& arguments, const search::Selection& previous,
                                     const search::History& past, const nlohmann::json& spec) {
  TRY_ASSIGN(auto known, steps::read_learnings(arguments.learnings));
  if (arguments.files.selection.empty()) {
    return search::Lessons{
        search::learnings_in_round(std::move(known), arguments.round - 1, spec.value("name", "")),
        {}};
  }
  TRY_ASSIGN(auto rule, search::learn_rule(previous, spec, arguments.effect));
  // The learnings that the rule accepted are known already, so they stay as they are.
  return search::learn(past, known, rule, search::Proposals::of_models);
}

// Draws a variant that a step rejected in the round before. Empty: no such variant. A variant
// without code of its own is never drawn, because it has nothing to repair.
Result<llm::Source> draw_rejected(const Arguments& arguments, const llm::PromptHistory& history) {
  std::vector<const llm::JudgedVariant*> rejected;
  for (const llm::JudgedVariant& past : history.entries) {
    const bool has_code = past.rejection && past.rejection->step != "adopt";
    if (past.round == arguments.round - 1 && past.round > 0 && has_code) rejected.push_back(&past);
  }
  if (rejected.empty()) return llm::Source{};
  search::Random random(arguments.random_seed, static_cast<uint64_t>(arguments.round));
  const size_t first = random.below(rejected.size());
  const VariantId id =
      rejected[(first + static_cast<size_t>(arguments.index)) % rejected.size()]->id;
  TRY_ASSIGN(auto text,
             world::read_file(fmt::format("{}/{}/kernel.py", arguments.previous_dir, id)));
  return llm::Source{id.text(), std::move(text)};
}

// Reads the plan of the code, if models plan first. Empty `path`: no plan.
Result<llm::Plan> read_plan(const std::string& path) {
  if (path.empty()) return llm::Plan();
  TRY_ASSIGN(auto record, steps::read_json(path));
  return llm::read_plan(record);
}

Status run(const Arguments& arguments) {
  TRY_ASSIGN(auto config_record, steps::read_json(arguments.config));
  auto config = llm::read_config(config_record);
  if (!config) return std::move(config).error().within(arguments.config);
  const bool is_plan = arguments.stage == "plan";
  // If models plan first, each place asks twice.
  if (is_plan || !arguments.plan.empty()) config->exchanges = 2;
  const llm::Stage stage = is_plan ? llm::Stage::plan : llm::Stage::code;
  auto templates = llm::Templates::read(
      arguments.templates, stage, [](const std::string& path) { return world::read_file(path); });
  if (!templates) return std::move(templates).error();
  TRY_ASSIGN(auto spec, steps::read_json(arguments.spec));
  TRY_ASSIGN(auto parents, steps::Parents::read(arguments.files));
  const auto place = static_cast<size_t>(arguments.place);
  TRY_ASSIGN(auto past, steps::read_history(arguments.history));
  TRY_ASSIGN(auto history, read_campaign(past, parents));
  TRY_ASSIGN(auto evidence, read_evidence(arguments, parents.of_place(place)));
  TRY_ASSIGN(auto parent, read_source(&parents.of_place(place)));
  TRY_ASSIGN(auto second, read_source(parents.beside(place)));
  TRY_ASSIGN(auto rejected, draw_rejected(arguments, history));
  TRY_ASSIGN(auto lessons, read_lessons(arguments, parents.previous(), past, spec));
  TRY_ASSIGN(auto plan, read_plan(arguments.plan));
  const llm::PromptRequest request{*std::move(config),
                                   llm::read_spec_text(spec),
                                   llm::read_compiler_evidence(evidence),
                                   std::move(history),
                                   std::move(parent),
                                   std::move(second),
                                   std::move(lessons),
                                   std::move(rejected),
                                   arguments.id,
                                   arguments.round,
                                   arguments.index,
                                   arguments.random_seed,
                                   stage,
                                   std::move(plan)};
  const llm::Prompt prompt = llm::make_prompt(request, *templates);
  TRY(steps::write_json(arguments.request_out, prompt.request));
  return steps::write_json(arguments.out, prompt.record);
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("prompt", "write the prompt for one variant");
  Arguments arguments;
  line.add("--spec", arguments.spec, "spec.json").required();
  line.add("--config", arguments.config, "llm.json").required();
  line.add("--templates", arguments.templates, "folder of system.md, rewrite.md, …").required();
  arguments.files.add_options(line);
  line.add("--history", arguments.history, "history.jsonl of the previous round");
  line.add("--learnings", arguments.learnings, "learnings.md of the previous round, or a person's");
  line.add("--effect", arguments.effect, "smallest gain that is worth learning, as a share")
      .at_least(0);
  line.add("--evidence", arguments.evidence, "evidence-K.json of the survivors, in order");
  line.add("--seed-dir", arguments.seed_dir, "the seed's folder").required();
  line.add("--previous-dir", arguments.previous_dir, "the folder of the previous round");
  line.add("--id", arguments.id, "v0007").required();
  line.add("--round", arguments.round).required().at_least(0);
  line.add("--place", arguments.place, "the variant's place in the round, from 0")
      .required()
      .between(0, 1 << 20);
  line.add("--index", arguments.index, "number among the variants that models propose, from 0")
      .required()
      .between(0, 1 << 20);
  line.add("--random-seed", arguments.random_seed);
  auto plan = line.add("--plan", arguments.plan, "plan.json, with which the code is requested");
  line.add("--stage", arguments.stage, "what to ask for: code or plan (default: code)")
      .one_of({"code", "plan"})
      .excludes(plan);
  line.add("--request-out", arguments.request_out, "request.json").required();
  line.add("--out", arguments.out, "prompt.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return run(arguments); });
}
