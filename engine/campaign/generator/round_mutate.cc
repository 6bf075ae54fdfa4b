#include "engine/campaign/generator/round_mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/campaign/generator/round_task.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

// What one mutator proposes in a round.
struct Share {
  std::vector<std::string> ids;
  std::vector<std::string> places;  // in the round, from 0
};

std::map<std::string, Share> shares_of(const CampaignShape& shape, int round) {
  std::map<std::string, Share> out;
  const int first = (round - 1) * shape.variants + 1;
  for (int place = 0; place < shape.variants; ++place) {
    Share& share = out[mutator_of(shape, first + place)];
    share.ids.push_back(variant_id(first + place));
    share.places.push_back(std::to_string(place));
  }
  return out;
}

// An edge that writes the kernels of several variants, and takes no more than their ids: so what
// one mutator proposes for a round is decided once, in one place.
EdgeText proposals(const std::string& rule, const std::string& subject,
                   const std::vector<std::string>& ids, const std::string& folder) {
  EdgeText edge;
  edge.rule = rule;
  for (const std::string& id : ids) {
    edge.outputs.push_back(fmt::format("{}/{}/kernel.py", folder, id));
    edge.outputs.push_back(fmt::format("{}/{}/variant.json", folder, id));
  }
  edge.inputs = {"$work/spec.json", "$work/seed.py"};
  edge.bindings = {{"subject", subject},
                   {"flags", fmt::format("--spec $work/spec.json --seed $work/seed.py --ids {} "
                                         "--round-dir {}",
                                         fmt::join(ids, ","), folder)}};
  return edge;
}

void add_flags(EdgeText& edge, const std::string& flags) {
  edge.bindings.back().second += flags;
}

void add_input(EdgeText& edge, const std::string& flag, const std::string& path) {
  edge.inputs.push_back(path);
  add_flags(edge, fmt::format(" --{} {}", flag, path_word(path)));
}

// What a round is proposed from.
void add_ancestry(EdgeText& edge, const CampaignShape& shape, int round) {
  const Ancestry ancestry = ancestry_of(shape, round);
  if (ancestry.selection.empty()) return;
  add_input(edge, "selection", ancestry.selection);
  for (const std::string& lineage : ancestry.lineages) add_input(edge, "lineage", lineage);
}

// And by what.
void add_history(EdgeText& edge, const CampaignShape& shape, int round) {
  add_flags(edge, fmt::format(" --round {} --random-seed {}", round, shape.random_seed));
  const Ancestry ancestry = ancestry_of(shape, round);
  if (!ancestry.history.empty()) add_input(edge, "history", ancestry.history);
}

// What a proposal is held to before it is proposed.
void add_cases(EdgeText& edge, const CampaignShape& shape) {
  add_flags(edge, " --entry " + shape.entry);
  for (const JudgedCase& one : judged_cases(shape)) {
    const std::string at = "$work/cases/" + one.name;
    add_flags(edge, fmt::format(" --{}-case {}/signature.json {}/terms.json",
                                one.is_check ? "check" : "timed", at, at));
    edge.inputs.insert(edge.inputs.end(), {at + "/signature.json", at + "/terms.json"});
  }
}

// What the round before proposed: a model may be asked to mend what was turned down.
void add_previous(EdgeText& edge, const CampaignShape& shape, int round) {
  if (round == 1) return;
  const std::string folder = round_folder(round - 1);
  add_flags(edge, " --previous-dir " + folder);
  for (const std::string& id : variants_of_round(shape, round - 1))
    edge.inputs.push_back(fmt::format("{}/{}/kernel.py", folder, id));
}

// A variant that a model or a person is asked for.
struct Asked {
  std::string id;
  std::string folder;  // of what is asked: the variant's, or of its plan
  std::string place;   // the flags that say which it is

  [[nodiscard]] std::string request() const { return folder + "/request.json"; }
  [[nodiscard]] std::string prompt() const { return folder + "/prompt.json"; }
  [[nodiscard]] std::string exchange() const { return folder + "/exchange.json"; }
};

Asked asked_for(const Share& share, size_t i, int round) {
  const std::string& id = share.ids[i];
  return {id, fmt::format("{}/{}", round_folder(round), id),
          fmt::format(" --id {} --place {}", id, share.places[i])};
}

// What a model is asked for: code, or the plan of it.
struct PromptStage {
  std::string suffix;                  // of the edges' subject
  std::vector<std::string> templates;  // that it is written from
  std::string flags;
};
PromptStage code_stage() {
  return {"", {"system", "rewrite", "diff", "crossover", "repair"}, ""};
}
PromptStage plan_stage() {
  return {" plan", {"system", "plan"}, " --stage plan"};
}

std::string models_file(int round) {
  return round_folder(round) + "/models.json";
}

EdgeText prompt_edge(const CampaignShape& shape, int round, const Asked& asked,
                     const PromptStage& stage, size_t index) {
  EdgeText out;
  out.rule = "prompt";
  out.outputs = {asked.request(), asked.prompt()};
  out.implicit = {"$steps/prompt"};
  for (const std::string& name : stage.templates)
    out.implicit.push_back(fmt::format("$rules/prompts/{}.md", name));
  const std::string seed = "$work/" + variant_folder(shape, 0);
  out.bindings = {
      {"subject", asked.id + stage.suffix},
      {"flags", fmt::format("--templates $rules/prompts --seed-dir {}{} --request-out {} "
                            "--out {}",
                            seed, asked.place, asked.request(), asked.prompt())}};
  add_input(out, "spec", "$work/spec.json");
  add_input(out, "config", models_file(round));
  add_input(out, "seed", "$work/seed.py");
  for (const std::string& name : shape.bench_cases)
    out.inputs.push_back(fmt::format("{}/{}/facts.json", seed, name));
  add_ancestry(out, shape, round);
  for (const std::string& evidence : ancestry_of(shape, round).evidence)
    add_input(out, "evidence", evidence);
  add_history(out, shape, round);
  const std::string learned = ancestry_of(shape, round).learnings;
  const std::string& learnings = learned.empty() ? shape.learnings : learned;
  if (!learnings.empty()) add_input(out, "learnings", learnings);
  add_flags(out, fmt::format(" --effect {}", shape.learn_effect));
  add_previous(out, shape, round);
  add_flags(out, fmt::format(" --index {}{}", index, stage.flags));
  return out;
}

// The models' file as it is when the round is asked. What stands in it is not of the key, but all
// else that the round's questions are made of is: an edit of the file asks nothing again, and who
// edits the rest asks anew, by the file as it is then. Until the round is recorded, and so has its
// answers, the file counts as it is.
EdgeText models_edge(const CampaignShape& shape, int round, const EdgeText& prompt) {
  EdgeText out;
  out.rule = "models";
  out.outputs = {models_file(round)};
  for (const auto* list : {&prompt.inputs, &prompt.implicit}) {
    for (const std::string& path : *list) {
      if (path != models_file(round) && path != "$steps/prompt") out.implicit.push_back(path);
    }
  }
  if (shape.plan != "none") out.implicit.push_back("$rules/prompts/plan.md");
  out.order_only = {shape.llm};
  out.bindings = {{"subject", fmt::format("round-{}", round)},
                  {"class", "recorded"},
                  {"tentative", "1"},
                  {"config", path_word(shape.llm)}};
  return out;
}

// What is answered depends on the request alone: prompt.json, which has prices and rates, too, only
// has to be there.
EdgeText exchange_edge(const CampaignShape& shape, const Asked& asked, const PromptStage& stage) {
  EdgeText out;
  out.rule = "exchange";
  out.outputs = {asked.exchange()};
  out.implicit = {"$steps/exchange"};
  out.bindings = {{"subject", asked.id + stage.suffix}, {"class", "recorded"}};
  if (!shape.llm_keys.empty())
    out.bindings.emplace_back("secrets", fmt::format("{}", fmt::join(shape.llm_keys, " ")));
  out.order_only = {asked.prompt()};
  out.bindings.emplace_back(
      "flags", fmt::format("--out {} --pace $work --prompt {}", asked.exchange(), asked.prompt()));
  add_input(out, "request", asked.request());
  return out;
}

// From what a model answered, or a person proposed: the callers add that.
EdgeText adopt_edge(const CampaignShape& shape, int round, const Asked& asked) {
  EdgeText out;
  out.rule = "adopt";
  out.outputs = {asked.folder + "/kernel.py", asked.folder + "/variant.json"};
  out.implicit = {"$steps/adopt"};
  out.bindings = {{"subject", asked.id},
                  {"flags", fmt::format("--round {} --kernel-out {} --variant-out {}{}", round,
                                        out.outputs[0], out.outputs[1], asked.place)}};
  add_input(out, "spec", "$work/spec.json");
  add_input(out, "seed", "$work/seed.py");
  add_ancestry(out, shape, round);
  return out;
}

// What became of a plan: a person's file is read where there is something to decide alone, and so
// is none of the graph's.
EdgeText plan_edge(const CampaignShape& shape, const Asked& asked) {
  const PlanFiles files = plan_files(shape, asked.id, asked.folder);
  EdgeText out;
  out.rule = "plan";
  out.outputs = {files.outcome};
  out.implicit = {"$steps/plan"};
  out.bindings = {{"subject", asked.id}, {"flags", fmt::format("--out {}", files.outcome)}};
  add_input(out, "prompt", files.prompt);
  add_input(out, "exchange", files.exchange);
  if (shape.plan == "approve") {
    const std::string depfile = asked.folder + "/plan.d";
    add_flags(out, fmt::format(" --decision {} --depfile {}", path_word(files.decision), depfile));
    out.bindings.emplace_back("depfile", depfile);
  }
  return out;
}

// What is asked, what is answered, and what is made of the answer, apart: an answer is paid for
// once. Where models plan first, that is asked, answered and decided on before.
void write_llm(const CampaignShape& shape, int round, const Share& share, ManifestText& text) {
  for (size_t i = 0; i < share.ids.size(); ++i) {
    const Asked asked = asked_for(share, i, round);
    EdgeText prompt = prompt_edge(shape, round, asked, code_stage(), i);
    EdgeText adopt = adopt_edge(shape, round, asked);
    add_input(adopt, "prompt", asked.prompt());
    add_input(adopt, "exchange", asked.exchange());
    add_previous(adopt, shape, round);
    if (i == 0) text.add(models_edge(shape, round, prompt));
    if (shape.plan != "none") {
      const PromptStage stage = plan_stage();
      const Asked plan = {asked.id, asked.folder + "/plan", asked.place};
      text.add(prompt_edge(shape, round, plan, stage, i));
      text.add(exchange_edge(shape, plan, stage));
      text.add(plan_edge(shape, asked));
      const std::string outcome = plan_files(shape, asked.id, asked.folder).outcome;
      add_input(prompt, "plan", outcome);
      add_input(adopt, "plan", outcome);
    }
    text.add(prompt);
    text.add(exchange_edge(shape, asked, code_stage()));
    text.add(adopt);
  }
}

// What a person proposes: their file in its canonical form, too, so that its markers are known.
void write_person(const CampaignShape& shape, int round, const Share& share, ManifestText& text) {
  for (size_t i = 0; i < share.ids.size(); ++i) {
    const Asked asked = asked_for(share, i, round);
    const std::string file = proposal_path(shape, asked.id),
                      canonical = asked.folder + "/proposed.py";
    text.add(normalise_edge(asked.id + " proposal", file, canonical,
                            marker_flags(shape) + " --on-error keep"));
    EdgeText adopt = adopt_edge(shape, round, asked);
    add_input(adopt, "proposal", file);
    add_input(adopt, "canonical", canonical);
    text.add(adopt);
  }
}

std::vector<int> variants_by(const CampaignShape& shape, const std::string& mutator,
                             int first_round, int last_round) {
  std::vector<int> out;
  // Most campaigns have none, and are asked before every build.
  const bool is_there =
      (shape.opening > 0 && mutator == "person") ||
      std::any_of(shape.mix.begin(), shape.mix.end(),
                  [&](const MutatorShare& share) { return share.name == mutator; });
  if (!is_there) return out;
  for (int number = (first_round - 1) * shape.variants + 1; number <= last_round * shape.variants;
       ++number) {
    if (mutator_of(shape, number) == mutator) out.push_back(number);
  }
  return out;
}

}  // namespace

const std::string& mutator_of(const CampaignShape& shape, int number) {
  static const std::string kPerson = "person";
  if (number <= shape.opening * shape.variants) return kPerson;
  int all = 0;
  for (const MutatorShare& share : shape.mix) all += share.weight;
  if (all == 0) return shape.mix.front().name;
  // Smooth weighted round-robin, as nginx spreads requests: everyone gains its weight, the richest
  // has the turn and pays for it.
  std::vector<int> credit(shape.mix.size());
  size_t chosen = 0;
  for (int turn = 0; turn <= (number - 1) % all; ++turn) {
    for (size_t i = 0; i < credit.size(); ++i) credit[i] += shape.mix[i].weight;
    chosen = static_cast<size_t>(std::max_element(credit.begin(), credit.end()) - credit.begin());
    credit[chosen] -= all;
  }
  return shape.mix[chosen].name;
}

std::string proposal_path(const CampaignShape& shape, const std::string& id) {
  return fmt::format("{}/{}.py", shape.proposals, id);
}

PlanFiles plan_files(const CampaignShape& shape, const std::string& id, const std::string& folder) {
  return {folder + "/plan/prompt.json", folder + "/plan/exchange.json",
          fmt::format("{}/{}.plan.md", shape.proposals, id), folder + "/plan.json"};
}

std::vector<int> proposed_variants(const CampaignShape& shape, int first_round, int last_round) {
  return variants_by(shape, "person", first_round, last_round);
}

std::vector<int> planned_variants(const CampaignShape& shape, int first_round, int last_round) {
  if (shape.plan != "approve") return {};
  return variants_by(shape, "llm", first_round, last_round);
}

std::string round_folder(int round) {
  return fmt::format("$work/round-{}", round);
}

Ancestry ancestry_of(const CampaignShape& shape, int round) {
  if (round == 1) return {};
  const std::string folder = round_folder(round - 1);
  Ancestry out = {
      folder + "/selection.json", folder + "/history.jsonl", folder + "/learnings.md", {}, {}};
  for (int lineage = 1; lineage <= shape.survival.capacity(); ++lineage) {
    out.lineages.push_back(fmt::format("{}/lineage-{}.py", folder, lineage));
    if (!shape.llm.empty())
      out.evidence.push_back(fmt::format("{}/evidence-{}.json", folder, lineage));
  }
  return out;
}

void write_seed_variant(ManifestText& text) {
  EdgeText edge = proposals("mutate", variant_id(0), {variant_id(0)}, round_folder(0));
  edge.implicit = {"$steps/mutate"};
  add_flags(edge, " --mutator seed");
  text.add(edge);
}

void write_mutators(const CampaignShape& shape, int round, ManifestText& text) {
  const std::string folder = round_folder(round);
  for (const auto& [mutator, share] : shares_of(shape, round)) {
    if (mutator == "llm") {
      write_llm(shape, round, share, text);
      continue;
    }
    if (mutator == "person") {
      write_person(shape, round, share, text);
      continue;
    }
    const std::string subject = fmt::format("round-{} {}", round, mutator);
    const std::string places = fmt::format(" --places {}", fmt::join(share.places, ","));
    if (mutator == "sweep") {
      EdgeText edge = proposals("mutate", subject, share.ids, folder);
      edge.implicit = {"$steps/mutate"};
      add_flags(edge, fmt::format(" --mutator sweep --sampler {} --explore {}", shape.sampler,
                                  shape.explore) +
                          places);
      add_ancestry(edge, shape, round);
      add_history(edge, shape, round);
      text.add(edge);
    } else {
      EdgeText edge = proposals("rewrite", subject, share.ids, folder);
      add_flags(edge, places);
      add_ancestry(edge, shape, round);
      add_history(edge, shape, round);
      add_cases(edge, shape);
      const std::string flags = edge.bindings.back().second;
      edge.bindings.pop_back();
      edge.bindings.emplace_back("depfile", folder + "/rewrite.d");
      text.add_named_python(std::move(edge), flags);
    }
  }
}

}  // namespace evolve
