#include "engine/campaign/generator/round_mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/campaign/generator/round_task.h"
#include "engine/search/variant.h"

namespace evolve {

namespace {

// The variants of a round that one mutator proposes.
struct Share {
  std::vector<std::string> ids;
  std::vector<std::string> places;  // positions in the round, from 0
};

std::map<std::string, Share> shares_of(const CampaignShape& shape, int round) {
  std::map<std::string, Share> out;
  const int first = (round - 1) * shape.variants() + 1;
  for (int place = 0; place < shape.variants(); ++place) {
    Share& share = out[mutator_of(shape, first + place)];
    share.ids.push_back(VariantId(first + place).text());
    share.places.push_back(std::to_string(place));
  }
  return out;
}

// Returns an edge that takes the ids of several variants and writes all their kernels. So one edge
// decides all proposals of a mutator for a round.
StepEdge proposals(const std::string& step, const std::string& subject,
                   const std::vector<std::string>& ids, const std::string& folder) {
  StepEdge edge(step, subject);
  edge.in("spec", "$work/spec.json")
      .in("seed", "$work/seed.py")
      .flag("ids", fmt::format("{}", fmt::join(ids, ",")))
      .flag("round-dir", folder);
  for (const std::string& id : ids) {
    edge.writes(fmt::format("{}/{}/kernel.py", folder, id));
    edge.writes(fmt::format("{}/{}/variant.json", folder, id));
  }
  return edge;
}

// Adds the kernels from which a round is proposed, and the selection that chose them.
void add_ancestry(StepEdge& edge, const CampaignShape& shape, int round) {
  const Ancestry ancestry = ancestry_of(shape, round);
  if (ancestry.selection.empty()) return;
  edge.in("selection", ancestry.selection);
  for (const std::string& lineage : ancestry.lineages) edge.in("lineage", lineage);
}

// Adds the flags and files that steer the proposals: the round, the random seed and the history.
void add_history(StepEdge& edge, const CampaignShape& shape, int round) {
  edge.flag("round", round).flag("random-seed", shape.pipeline.mutate.random_seed);
  const Ancestry ancestry = ancestry_of(shape, round);
  if (!ancestry.history.empty()) edge.in("history", ancestry.history);
}

// Adds the cases against which the step checks a kernel before it proposes the kernel.
void add_cases(StepEdge& edge, const CampaignShape& shape) {
  edge.flag("entry", shape.entry);
  for (const JudgedCase& one : judged_cases(shape)) {
    const std::string at = "$work/cases/" + one.name;
    edge.in(one.is_check ? "check-case" : "timed-case",
            {at + "/signature.json", at + "/terms.json"});
  }
}

// Adds the kernels of the round before, because a model may be asked to repair a rejected one.
void add_previous(StepEdge& edge, const CampaignShape& shape, int round) {
  if (round == 1) return;
  const std::string folder = round_folder(round - 1);
  edge.flag("previous-dir", folder);
  for (const std::string& id : variants_of_round(shape, round - 1))
    edge.reads(fmt::format("{}/{}/kernel.py", folder, id));
}

// A variant for which a model or a person is asked.
struct ModelTask {
  std::string id;
  std::string folder;  // of the request: the variant's, or its plan's
  std::string place;   // in the round, from 0

  [[nodiscard]] std::string request() const { return folder + "/request.json"; }
  [[nodiscard]] std::string prompt() const { return folder + "/prompt.json"; }
  [[nodiscard]] std::string exchange() const { return folder + "/exchange.json"; }
};

ModelTask model_task(const Share& share, size_t i, int round) {
  const std::string& id = share.ids[i];
  return {
      .id = id, .folder = fmt::format("{}/{}", round_folder(round), id), .place = share.places[i]};
}

// The stage of a request to a model: the code, or the plan for it.
struct PromptStage {
  std::string name;                    // empty: the code
  std::vector<std::string> templates;  // names of the templates of the prompt

  // Returns the subject (the name in messages) of this stage's edges for a variant.
  [[nodiscard]] std::string subject(const std::string& id) const {
    return name.empty() ? id : id + " " + name;
  }
};
PromptStage code_stage() {
  return {.name = "", .templates = {"system", "rewrite", "diff", "crossover", "repair"}};
}
PromptStage plan_stage() {
  return {.name = "plan", .templates = {"system", "plan"}};
}

std::string models_file(int round) {
  return round_folder(round) + "/models.json";
}

StepEdge prompt_edge(const CampaignShape& shape, int round, const ModelTask& asked,
                     const PromptStage& stage, size_t index) {
  const std::string seed = "$work/" + variant_folder(shape, 0);
  const Ancestry ancestry = ancestry_of(shape, round);
  StepEdge out("prompt", stage.subject(asked.id));
  for (const std::string& name : stage.templates)
    out.uses(fmt::format("$rules/prompts/{}.md", name));
  out.flag("templates", "$rules/prompts")
      .flag("seed-dir", seed)
      .flag("id", asked.id)
      .flag("place", asked.place)
      .out("request-out", asked.request())
      .out("out", asked.prompt())
      .in("spec", "$work/spec.json")
      .in("config", models_file(round))
      .in("seed", "$work/seed.py");
  for (const std::string& name : shape.bench_cases)
    out.reads(fmt::format("{}/{}/facts.json", seed, name));
  add_ancestry(out, shape, round);
  for (const std::string& evidence : ancestry.evidence) out.in("evidence", evidence);
  add_history(out, shape, round);
  const std::string& learnings =
      ancestry.learnings.empty() ? shape.files.learnings : ancestry.learnings;
  if (!learnings.empty()) out.in("learnings", learnings);
  out.flag("effect", shape.pipeline.learn.effect);
  add_previous(out, shape, round);
  out.flag("index", index);
  if (!stage.name.empty()) out.flag("stage", stage.name);
  return out;
}

// Returns the edge that copies the models' file for a round. The file is an order-only input, so
// its content is not in the key, and an edit of the file repeats no question. All other inputs of
// the round's questions are in the key. If one of these inputs changes, the questions are asked
// again, with the models' file as it is then. The edge is tentative: every build copies the present
// file, until the round and its answers are recorded.
EdgeText models_edge(const CampaignShape& shape, int round, const StepEdge& prompt) {
  EdgeText out = {.rule = "models",
                  .outputs = {models_file(round)},
                  .order_only = {shape.files.llm},
                  .bindings = {{"subject", fmt::format("round-{}", round)},
                               {"class", "recorded"},
                               {"tentative", "1"},
                               {"config", path_word(shape.files.llm)}}};
  for (const auto* list : {&prompt.inputs(), &prompt.used()}) {
    for (const std::string& path : *list) {
      if (path != models_file(round)) out.implicit.push_back(path);
    }
  }
  if (shape.pipeline.mutate.plan != "none") out.implicit.emplace_back("$rules/prompts/plan.md");
  return out;
}

// Returns the edge that asks a model. The answer depends only on the request. prompt.json must
// exist, but it also has prices and rates. So it is not in the key.
StepEdge exchange_edge(const CampaignShape& shape, const ModelTask& asked,
                       const PromptStage& stage) {
  StepEdge out("exchange", stage.subject(asked.id));
  out.set("class", "recorded");
  if (!shape.llm_keys.empty())
    out.set("secrets", fmt::format("{}", fmt::join(shape.llm_keys, " ")));
  return out.out("out", asked.exchange())
      .flag("pace", "$work")
      .after("prompt", asked.prompt())
      .in("request", asked.request());
}

// Returns the edge that makes a variant from a model's answer or a person's proposal, which the
// callers add.
StepEdge adopt_edge(const CampaignShape& shape, int round, const ModelTask& asked) {
  StepEdge out("adopt", asked.id);
  out.flag("round", round)
      .out("kernel-out", asked.folder + "/kernel.py")
      .out("variant-out", asked.folder + "/variant.json")
      .flag("id", asked.id)
      .flag("place", asked.place)
      .in("spec", "$work/spec.json")
      .in("seed", "$work/seed.py");
  add_ancestry(out, shape, round);
  return out;
}

// Returns the edge that writes the outcome of a plan. The step reads a person's file only if there
// is something to decide, so that file is not an input in the graph.
StepEdge plan_edge(const CampaignShape& shape, const ModelTask& asked) {
  const PlanFiles files = plan_files(shape, asked.id, asked.folder);
  StepEdge out("plan", asked.id);
  out.out("out", files.outcome).in("prompt", files.prompt).in("exchange", files.exchange);
  if (shape.pipeline.mutate.plan == "approve") {
    const std::string depfile = asked.folder + "/plan.d";
    out.flag("decision", path_word(files.decision))
        .flag("depfile", depfile)
        .set("depfile", depfile);
  }
  return out;
}

// Adds separate edges for the request, for the answer and for the variant that the answer becomes.
// So an answer is paid for only once. If models plan first, the plan's request, answer and decision
// come before these edges.
void write_llm(const CampaignShape& shape, int round, const Share& share, StepText& text) {
  for (size_t i = 0; i < share.ids.size(); ++i) {
    const ModelTask asked = model_task(share, i, round);
    StepEdge prompt = prompt_edge(shape, round, asked, code_stage(), i);
    StepEdge adopt = adopt_edge(shape, round, asked);
    adopt.in("prompt", asked.prompt()).in("exchange", asked.exchange());
    add_previous(adopt, shape, round);
    if (i == 0) text.add(models_edge(shape, round, prompt));
    if (shape.pipeline.mutate.plan != "none") {
      const PromptStage stage = plan_stage();
      const ModelTask plan = {
          .id = asked.id, .folder = asked.folder + "/plan", .place = asked.place};
      text.add(prompt_edge(shape, round, plan, stage, i));
      text.add(exchange_edge(shape, plan, stage));
      text.add(plan_edge(shape, asked));
      const std::string outcome = plan_files(shape, asked.id, asked.folder).outcome;
      prompt.in("plan", outcome);
      adopt.in("plan", outcome);
    }
    text.add(prompt);
    text.add(exchange_edge(shape, asked, code_stage()));
    text.add(adopt);
  }
}

// Adds the edges of a person's proposals. For each file, one edge makes the canonical form, which
// has the canonical markers. Another edge adopts the proposal, and reads both.
void write_person(const CampaignShape& shape, int round, const Share& share, StepText& text) {
  for (size_t i = 0; i < share.ids.size(); ++i) {
    const ModelTask asked = model_task(share, i, round);
    const std::string file = proposal_path(shape, asked.id),
                      canonical = asked.folder + "/proposed.py";
    text.add(normalise_edge(asked.id + " proposal", file, canonical,
                            marker_flags(shape) + " --on-error keep"));
    StepEdge adopt = adopt_edge(shape, round, asked);
    adopt.in("proposal", file);
    adopt.in("canonical", canonical);
    text.add(adopt);
  }
}

std::vector<int> variants_by(const CampaignShape& shape, const std::string& mutator,
                             int first_round, int last_round) {
  std::vector<int> out;
  // Most campaigns do not have this mutator. Their builds need not look at each variant.
  const bool is_there =
      (shape.pipeline.mutate.opening > 0 && mutator == "person") ||
      std::any_of(shape.pipeline.mutate.mix.begin(), shape.pipeline.mutate.mix.end(),
                  [&](const MutatorShare& share) { return share.name == mutator; });
  if (!is_there) return out;
  for (int number = (first_round - 1) * shape.variants() + 1;
       number <= last_round * shape.variants(); ++number) {
    if (mutator_of(shape, number) == mutator) out.push_back(number);
  }
  return out;
}

}  // namespace

const std::string& mutator_of(const CampaignShape& shape, int number) {
  static const std::string kPerson = "person";
  if (number <= shape.pipeline.mutate.opening * shape.variants()) return kPerson;
  int all = 0;
  for (const MutatorShare& share : shape.pipeline.mutate.mix) all += share.weight;
  if (all == 0) return shape.pipeline.mutate.mix.front().name;
  // Smooth weighted round-robin, as nginx spreads requests. In each turn every mutator gains its
  // weight; the richest one is chosen and pays the sum of all weights.
  std::vector<int> credit(shape.pipeline.mutate.mix.size());
  size_t chosen = 0;
  for (int turn = 0; turn <= (number - 1) % all; ++turn) {
    for (size_t i = 0; i < credit.size(); ++i) credit[i] += shape.pipeline.mutate.mix[i].weight;
    chosen = static_cast<size_t>(std::max_element(credit.begin(), credit.end()) - credit.begin());
    credit[chosen] -= all;
  }
  return shape.pipeline.mutate.mix[chosen].name;
}

std::string proposal_path(const CampaignShape& shape, const std::string& id) {
  return fmt::format("{}/{}.py", shape.files.proposals, id);
}

PlanFiles plan_files(const CampaignShape& shape, const std::string& id, const std::string& folder) {
  return {.prompt = folder + "/plan/prompt.json",
          .exchange = folder + "/plan/exchange.json",
          .decision = fmt::format("{}/{}.plan.md", shape.files.proposals, id),
          .outcome = folder + "/plan.json"};
}

std::vector<int> proposed_variants(const CampaignShape& shape, int first_round, int last_round) {
  return variants_by(shape, "person", first_round, last_round);
}

std::vector<int> planned_variants(const CampaignShape& shape, int first_round, int last_round) {
  if (shape.pipeline.mutate.plan != "approve") return {};
  return variants_by(shape, "llm", first_round, last_round);
}

std::string round_folder(int round) {
  return fmt::format("$work/round-{}", round);
}

Ancestry ancestry_of(const CampaignShape& shape, int round) {
  if (round == 1) return {};
  const std::string folder = round_folder(round - 1);
  Ancestry out = {.selection = folder + "/selection.json",
                  .history = folder + "/history.jsonl",
                  .learnings = folder + "/learnings.md",
                  .lineages = {},
                  .evidence = {}};
  for (int lineage = 1; lineage <= shape.pipeline.select.capacity(); ++lineage) {
    out.lineages.push_back(fmt::format("{}/lineage-{}.py", folder, lineage));
    if (!shape.files.llm.empty())
      out.evidence.push_back(fmt::format("{}/evidence-{}.json", folder, lineage));
  }
  return out;
}

void write_seed_variant(StepText& text) {
  StepEdge edge = proposals("mutate", VariantId(0).text(), {VariantId(0).text()}, round_folder(0));
  text.add(edge.flag("mutator", "seed"));
}

void write_mutators(const CampaignShape& shape, int round, StepText& text) {
  const Pipeline::Mutate& mutate = shape.pipeline.mutate;
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
    const bool is_sweep = mutator == "sweep";
    StepEdge edge = proposals(is_sweep ? "mutate" : "rewrite",
                              fmt::format("round-{} {}", round, mutator), share.ids, folder);
    if (is_sweep)
      edge.flag("mutator", "sweep").flag("sampler", mutate.sampler).flag("explore", mutate.explore);
    edge.flag("places", fmt::format("{}", fmt::join(share.places, ",")));
    add_ancestry(edge, shape, round);
    add_history(edge, shape, round);
    if (!is_sweep) {
      add_cases(edge, shape);
      tell_target(edge, *shape.pipeline.target);
      edge.set("depfile", folder + "/rewrite.d");
    }
    text.add(edge);
  }
}

}  // namespace evolve
