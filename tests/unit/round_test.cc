#include "engine/campaign/generator/round.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/generator/round_mutate.h"
#include "engine/graph/manifest.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

CampaignShape shape() {
  CampaignShape out;
  out.pipeline.session.max_iterations = 3;
  out.pipeline.batch.variants_per_round = 8;
  out.pipeline.select.top_k = 2;
  out.pipeline.mutate.random_seed = 7;
  out.entry = "matmul";
  out.files.spec = "kernels/matmul/spec.yaml";
  out.files.seed = "kernels/matmul/kernel.py";
  out.files.reference = "kernels/matmul/reference.py";
  out.files.xla = "kernels/matmul/xla.py";
  out.bench_cases = {"big", "wide"};
  out.check_cases = {"aligned", "ragged"};
  out.step_sources = {"__main__.py", "steps/lower.py", "steps/compile.py", "steps/expect.py",
                      "steps/check.py"};
  return out;
}

// Returns the graph of a campaign whose work folder is `work`.
std::unique_ptr<Graph> graph_of(const CampaignShape& campaign, const std::string& work) {
  auto graph = std::make_unique<Graph>();
  std::string rules;
  for (const char* rule :
       {"normalise", "spec",    "mutate",  "rewrite", "prompt",   "exchange",  "adopt",
        "secret",    "expect",  "audit",   "lower",   "contract", "compile",   "check",
        "interpret", "analyze", "measure", "cut",     "race",     "finalists", "values",
        "time",      "trace",   "select",  "novelty", "plan",     "gate"}) {
    rules += std::string("rule ") + rule + "\n  command = " + rule + " $in $out $flags\n";
  }
  rules += "rule models\n  command = cp -- $config $out\n";
  LoadText load = [&](const std::string& path) -> Result<std::string> {
    if (path == "rounds") return write_rounds(campaign);
    std::string bound = "device_kind = cpu:x\n";
    for (const auto& [name, at] :
         {std::pair<const char*, std::string>("work", work), {"rules", "rules"}, {"steps", "bin"}})
      bound += fmt::format("{0} = {1}\n{0}_word = {1}\n", name, at);
    return bound + rules + "include rounds\n";
  };
  auto parsed = parse_manifest("build.ninja", load, *graph);
  INFO((parsed ? "" : parsed.error().message));
  REQUIRE(parsed);
  return graph;
}

// Returns the edge that makes a file.
EdgeId maker_of(const Graph& graph, const std::string& path) {
  return *graph.node(*graph.find_node(path)).made_by;
}

bool has_input(const Graph& graph, EdgeId edge, const std::string& path) {
  const auto& inputs = graph.edge(edge).inputs;
  auto node = graph.find_node(path);
  return node && std::find(inputs.begin(), inputs.end(), *node) != inputs.end();
}

}  // namespace

TEST_CASE("variants count through the campaign") {
  CampaignShape campaign = shape();
  CHECK(variants_of_round(campaign, 0) == std::vector<std::string>{"v0000"});
  CHECK(variants_of_round(campaign, 2).front() == "v0009");
  CHECK(variants_of_round(campaign, 3).back() == "v0024");
  CHECK(variant_folder(campaign, 0) == "round-0/v0000");
  CHECK(variant_folder(campaign, 8) == "round-1/v0008");
  CHECK(variant_folder(campaign, 9) == "round-2/v0009");
}

TEST_CASE("the manifest is a graph without cycles in which every round needs the one before") {
  auto graph = graph_of(shape(), "w");
  auto targets = *graph->default_targets();
  REQUIRE(targets == std::vector{*graph->find_node("round-3")});
  CHECK(!graph->find_cycle(targets));
  EdgeId mutate = *graph->node(*graph->find_node("w/round-2/v0009/kernel.py")).made_by;
  auto inputs = graph->edge(mutate).inputs;
  for (const char* file : {"w/round-1/selection.json", "w/round-1/history.jsonl"}) {
    INFO(file);
    CHECK(std::find(inputs.begin(), inputs.end(), *graph->find_node(file)) != inputs.end());
  }
}

TEST_CASE("mutators take turns as their weights say, from round to round") {
  CampaignShape campaign = shape();
  CHECK(mutator_of(campaign, 5) == "sweep");
  campaign.pipeline.mutate.mix = {{"sweep", 3}, {"rewrite", 1}};
  std::string turns;
  for (int number = 1; number <= 8; ++number) turns += mutator_of(campaign, number).front();
  CHECK(turns == "ssrsssrs");
  // A person proposes all variants of an opening round. The turns of other rounds stay as they are.
  campaign.pipeline.mutate.opening = 1;
  CHECK(proposed_variants(campaign, 1, 3) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(mutator_of(campaign, campaign.variants()) == "person");
  CHECK(mutator_of(campaign, campaign.variants() + 3) != "person");
  campaign.pipeline.mutate.opening = 0;
  // Each round of only one variant has only one of the mutators.
  campaign.pipeline.batch.variants_per_round = 1;
  auto graph = graph_of(campaign, "w");
  auto maker = [&](const char* kernel) {
    return std::string(graph->edge(*graph->node(*graph->find_node(kernel)).made_by).rule->name);
  };
  CHECK(maker("w/round-2/v0002/kernel.py") == "mutate");
  CHECK(maker("w/round-3/v0003/kernel.py") == "rewrite");
}

TEST_CASE("a model's variant is asked for, answered and adopted, and only its answer is recorded") {
  CampaignShape campaign = shape();
  campaign.pipeline.mutate.mix = {{"sweep", 1}, {"llm", 1}};
  campaign.files.llm = "pipelines/models.json";
  campaign.llm_keys = {"ONE_KEY", "TWO_KEY"};
  auto graph = graph_of(campaign, "w");
  const EdgeId prompt = maker_of(*graph, "w/round-2/v0010/prompt.json");
  const EdgeId exchange = maker_of(*graph, "w/round-2/v0010/exchange.json");
  const EdgeId adopt = maker_of(*graph, "w/round-2/v0010/kernel.py");
  for (const char* file :
       {"w/round-2/models.json", "rules/prompts/system.md", "w/round-1/history.jsonl",
        "w/round-1/evidence-2.json", "w/round-0/v0000/big/facts.json", "w/round-1/v0008/kernel.py"})
    CHECK(has_input(*graph, prompt, file));
  // The exchange reads prices and rates from the prompt, so the prompt has to exist. But the answer
  // does not depend on them, so the content of the prompt is not in the key.
  const EdgeId other = maker_of(*graph, "w/round-2/v0012/exchange.json");
  CHECK(has_input(*graph, exchange, "w/round-2/v0010/prompt.json"));
  for (const auto& [edge, request] : {std::pair(exchange, "w/round-2/v0010/request.json"),
                                      {other, "w/round-2/v0012/request.json"}}) {
    const auto content = graph->edge(edge).content_inputs();
    REQUIRE(content.size() == 2);
    CHECK(graph->node(content[0]).path == request);
    CHECK(graph->node(content[1]).path == "bin/exchange");
  }
  CHECK(has_input(*graph, adopt, "w/round-2/v0010/exchange.json"));
  CHECK(has_input(*graph, adopt, "w/round-1/lineage-1.py"));
  CHECK(graph->extension(exchange, "class") == "recorded");
  CHECK(graph->extension(prompt, "class").empty());
  CHECK(graph->extension(adopt, "class").empty());
  // Only the step exchange gets the models' API keys.
  CHECK(graph->extension(exchange, "secrets") == "ONE_KEY TWO_KEY");
  CHECK(graph->extension(prompt, "secrets").empty());
  // The number of a variant among the models' variants (--index) is not its place in the round.
  const std::string flags = graph->extension(prompt, "flags");
  CHECK(flags.find(" --place 1 ") != std::string::npos);
  CHECK(flags.ends_with(" --index 0"));
  // The round keeps a copy of the models' file. The file's present content is not in the copy's
  // key.
  const EdgeId models = maker_of(*graph, "w/round-2/models.json");
  CHECK(graph->extension(models, "class") == "recorded");
  CHECK(graph->extension(models, "tentative") == "1");
  CHECK(graph->edge(models).content_inputs().size() ==
        graph->edge(prompt).content_inputs().size() - 2);  // all but the copy and the program
  CHECK(has_input(*graph, models, "pipelines/models.json"));
  CHECK(has_input(*graph, models, "w/round-1/history.jsonl"));
  for (NodeId input : graph->edge(models).content_inputs())
    CHECK(graph->node(input).path != "pipelines/models.json");
  // Without models no edge writes evidence.
  CHECK(!graph_of(shape(), "w")->find_node("w/round-1/evidence-1.json"));
}

TEST_CASE("where models plan first, the code is asked for by what became of the plan") {
  CampaignShape campaign = shape();
  campaign.pipeline.mutate.mix = {{"llm", 1}};
  campaign.files.llm = "models.json";
  campaign.files.proposals = "said";
  const std::string without = write_rounds(campaign);
  CHECK(without.find("plan") == std::string::npos);
  CHECK(planned_variants(campaign, 1, 3).empty());
  campaign.pipeline.mutate.plan = "approve";
  CHECK(planned_variants(campaign, 2, 2).size() == 8);
  auto graph = graph_of(campaign, "w");
  const std::string at = "w/round-1/v0002";
  const EdgeId asked = maker_of(*graph, at + "/plan/prompt.json");
  CHECK(has_input(*graph, asked, "rules/prompts/plan.md"));
  CHECK(!has_input(*graph, asked, "rules/prompts/diff.md"));
  CHECK(graph->extension(asked, "flags").ends_with(" --index 1 --stage plan"));
  const EdgeId answered = maker_of(*graph, at + "/plan/exchange.json");
  CHECK(graph->extension(answered, "class") == "recorded");
  CHECK(has_input(*graph, answered, at + "/plan/request.json"));
  const EdgeId outcome = maker_of(*graph, at + "/plan.json");
  CHECK(has_input(*graph, outcome, at + "/plan/exchange.json"));
  // A person's file is not in the graph, because it exists only if there is something to decide.
  CHECK(!graph->find_node("said/v0002.plan.md"));
  CHECK(graph->extension(outcome, "flags").find(" --decision said/v0002.plan.md ") !=
        std::string::npos);
  for (const char* file : {"/prompt.json", "/kernel.py"})
    CHECK(has_input(*graph, maker_of(*graph, at + file), at + "/plan.json"));
  campaign.pipeline.mutate.plan = "auto";
  graph = graph_of(campaign, "w");
  CHECK(graph->extension(maker_of(*graph, at + "/plan.json"), "flags").find("--decision") ==
        std::string::npos);
  CHECK(planned_variants(campaign, 1, 3).empty());
}

TEST_CASE("what one mutator proposes for a round is one edge") {
  CampaignShape campaign = shape();
  campaign.pipeline.mutate.mix = {{"sweep", 1}, {"rewrite", 1}};
  auto graph = graph_of(campaign, "w");
  const EdgeId sweep = *graph->node(*graph->find_node("w/round-1/v0001/kernel.py")).made_by;
  const EdgeId rewrite = *graph->node(*graph->find_node("w/round-1/v0002/kernel.py")).made_by;
  CHECK(sweep == *graph->node(*graph->find_node("w/round-1/v0007/variant.json")).made_by);
  CHECK(rewrite == *graph->node(*graph->find_node("w/round-1/v0008/variant.json")).made_by);
  CHECK(graph->edge(sweep).outputs.size() == 8);
  CHECK(graph->extension(rewrite, "subject") == "round-1 rewrite");
  const std::string flags = graph->extension(rewrite, "arguments");
  CHECK(flags.find("--ids v0002,v0004,v0006,v0008 ") != std::string::npos);
  CHECK(flags.find("--places 1,3,5,7 ") != std::string::npos);
}

TEST_CASE("a rewrite is held to the contract of every case before it is proposed") {
  CampaignShape campaign = shape();
  campaign.pipeline.mutate.mix = {{"rewrite", 1}};
  campaign.is_sandboxed = false;
  auto graph = graph_of(campaign, "w");
  const EdgeId rewrite = *graph->node(*graph->find_node("w/round-2/v0009/kernel.py")).made_by;
  const std::string arguments = graph->extension(rewrite, "arguments") + " ";
  for (const JudgedCase& one : judged_cases(campaign)) {
    CHECK(arguments.find(fmt::format(" --{}-case w/cases/{}/signature.json w/cases/{}/terms.json ",
                                     one.is_check ? "check" : "timed", one.name, one.name)) !=
          std::string::npos);
    const auto terms = graph->find_node(fmt::format("w/cases/{}/terms.json", one.name));
    const auto& inputs = graph->edge(rewrite).inputs;
    CHECK(std::find(inputs.begin(), inputs.end(), *terms) != inputs.end());
  }
  CHECK(arguments.find(fmt::format(" --entry {} ", campaign.entry)) != std::string::npos);
  CHECK(arguments.find(" --unsafe-no-sandbox ") != std::string::npos);
  CHECK_FALSE(graph->extension(rewrite, "worker").empty());
}

TEST_CASE("a step's edges are there for every variant and case that it is for") {
  auto graph = graph_of(shape(), "w");
  std::map<std::string, int> edges;
  for (size_t i = 0; i < graph->edge_count(); ++i)
    ++edges[std::string(graph->edge(static_cast<EdgeId>(i)).rule->name)];
  CHECK(edges["mutate"] == 1 + 3);      // the seed, and each round's sweep
  CHECK(edges["lower"] == 25 * 4 + 2);  // all cases, and two of the XLA baseline
  CHECK(edges["contract"] == 25 * 4);   // only of candidates
  CHECK(edges["check"] == 25 * 2);
  CHECK(edges["interpret"] == 25 * 2);
  CHECK(edges["compile"] == 25 * 2 + 2);
  CHECK(edges["time"] == edges["compile"]);
  CHECK(edges["trace"] == edges["compile"]);
  CHECK(edges["select"] == 3);
  CHECK(edges["expect"] == 4);       // only at some places of the large timed cases
  CHECK(edges["values"] == 25 * 2);  // of the large timed cases
  CHECK(edges["finalists"] == 3);
}

TEST_CASE("no step works on a variant that an earlier stage turned down, in any of its cases") {
  auto graph = graph_of(shape(), "w");
  const std::string folder = "w/round-1/v0003/";
  const std::string checks = folder + "gate-checks.json", compile = folder + "gate-compile.json";
  for (const char* report : {"aligned/check.json", "ragged/interpret.json"}) {
    CHECK(has_input(*graph, maker_of(*graph, folder + report), checks));
    CHECK(has_input(*graph, maker_of(*graph, compile), folder + report));
  }
  for (const char* report : {"big/compile.json", "wide/values.json"})
    CHECK(has_input(*graph, maker_of(*graph, folder + report), compile));
  // The gate looks at all cases, including those that are only timed.
  for (const char* name : {"aligned", "ragged", "big", "wide"})
    CHECK(has_input(*graph, maker_of(*graph, checks), folder + name + "/contract.json"));
  CHECK_FALSE(has_input(*graph, maker_of(*graph, compile), folder + "big/compile.json"));
  // The same gate rejects near-duplicates. The seed is never a near-duplicate.
  CampaignShape novel = shape();
  novel.pipeline.mutate.least_distance = 0.1;
  graph = graph_of(novel, "w");
  CHECK(has_input(*graph, maker_of(*graph, checks), folder + "big/novelty.json"));
  CHECK_FALSE(graph->find_node("w/round-0/v0000/big/novelty.json"));
}

TEST_CASE("a build of rounds ends where the seed does not pass") {
  auto graph = graph_of(shape(), "w");
  const EdgeId gate = maker_of(*graph, "w/round-0/v0000/gate-rounds.json");
  CHECK(has_input(*graph, gate, "w/round-0/v0000/wide/values.json"));
  CHECK(has_input(*graph, maker_of(*graph, "round-0"), "w/round-0/v0000/gate-rounds.json"));
  CHECK(graph->extension(gate, "flags").find("--seed") != std::string::npos);
  CHECK(graph->extension(maker_of(*graph, "w/round-1/v0003/gate-checks.json"), "flags")
            .find("--seed") == std::string::npos);
}

TEST_CASE("a step has the pipeline's time limit, or else its default") {
  CampaignShape limited = shape();
  limited.pipeline.limits = {{"values", 300}};
  auto graph = graph_of(limited, "w");
  const auto flags = [&](const std::string& report) {
    return graph->extension(maker_of(*graph, "w/round-1/v0003/" + report), "arguments");
  };
  CHECK(flags("big/values.json").find("--cpu-seconds 300") != std::string::npos);
  CHECK(flags("aligned/check.json").find("--cpu-seconds") == std::string::npos);
}

TEST_CASE("no variant survives before its large timed cases are compared") {
  auto graph = graph_of(shape(), "w");
  const EdgeId values = maker_of(*graph, "w/round-1/v0003/big/values.json");
  CHECK(has_input(*graph, values, "w/round-1/v0003/finalists.json"));
  CHECK(has_input(*graph, values, "w/cases/big/expected.npz"));
  CHECK(has_input(*graph, maker_of(*graph, "w/round-1/selection.json"),
                  "w/round-1/v0003/big/values.json"));
  // The seed is always compared. If times are measured, the race decides which variants are
  // compared.
  CHECK_FALSE(has_input(*graph, maker_of(*graph, "w/round-0/v0000/big/values.json"),
                        "w/round-1/v0000/finalists.json"));
  CampaignShape measured = shape();
  measured.pipeline.time.kind = "measured";
  graph = graph_of(measured, "w");
  CHECK(has_input(*graph, maker_of(*graph, "w/round-1/v0003/big/values.json"),
                  "w/round-1/v0003/race.json"));
  // A case that is checked as a whole is not compared in parts.
  CampaignShape small = shape();
  small.check_cases.insert(small.check_cases.end(), small.bench_cases.begin(),
                           small.bench_cases.end());
  graph = graph_of(small, "w");
  CHECK_FALSE(graph->find_node("w/round-1/finalists.json"));
}

TEST_CASE("what candidates must not know is drawn once, and kept like what a person said") {
  auto graph = graph_of(shape(), "w");
  const NodeId secret = *graph->find_node("w/secret");
  CHECK(graph->extension(*graph->node(secret).made_by, "class") == "recorded");
  for (size_t i = 0; i < graph->edge_count(); ++i) {
    const auto& edge = graph->edge(static_cast<EdgeId>(i));
    const bool knows =
        std::find(edge.inputs.begin(), edge.inputs.end(), secret) != edge.inputs.end();
    CHECK(knows == (edge.rule->name == "expect" || edge.rule->name == "audit" ||
                    edge.rule->name == "check" || edge.rule->name == "interpret" ||
                    edge.rule->name == "values"));
  }
}

TEST_CASE("a program is measured next to the seed's, on one device at a time") {
  CampaignShape campaign = shape();
  campaign.pipeline.time.kind = "measured";
  auto graph = graph_of(campaign, "w");
  auto samples = graph->find_node("w/round-1/v0001/big/samples.json");
  REQUIRE(samples);
  const EdgeId measure = *graph->node(*samples).made_by;
  std::vector<std::string> inputs;
  for (NodeId input : graph->edge(measure).explicit_inputs()) inputs.push_back(graph->path(input));
  CHECK(inputs == std::vector<std::string>{
                      "w/round-1/v0001/big/judge.program", "w/round-0/v0000/big/judge.program",
                      "w/cases/big/signature.json", "w/cases/big/expected.npz",
                      "w/cases/big/tolerance.json", "w/secret", "w/round-1/v0001/gate-compile.json",
                      "w/round-1/v0001/race.json"});
  CHECK(graph->extension(measure, "class") == "measured");
  CHECK(graph->extension(measure, "device") == "cpu 1");
  auto time = graph->find_node("w/round-1/v0001/big/time.json");
  CHECK(graph->edge(*graph->node(*time).made_by).inputs.front() == *samples);
  // The choice of variants for a long measurement depends on short measurements, and not on long
  // ones.
  const EdgeId race = *graph->node(*graph->find_node("w/round-1/v0001/race.json")).made_by;
  bool is_short = false;
  for (NodeId input : graph->edge(race).explicit_inputs()) {
    CHECK(!graph->path(input).ends_with("samples.json"));
    is_short = is_short || graph->path(input) == "w/round-1/v0001/big/screening.json";
  }
  CHECK(is_short);
  // The seed is in no race.
  CHECK(!graph->find_node("w/round-0/v0000/big/screening.json"));
}

TEST_CASE("if the model makes the first cut, it decides which variants are measured") {
  CampaignShape campaign = shape();
  campaign.pipeline.time.kind = "measured";
  CHECK(!graph_of(campaign, "w")->find_node("w/round-1/cut.json"));
  campaign.pipeline.time.first_cut = 0.2;
  auto graph = graph_of(campaign, "w");
  auto made_by = [&](const std::string& path) {
    auto node = graph->find_node(path);
    REQUIRE(node);
    return *graph->node(*node).made_by;
  };
  auto reads = [&](EdgeId edge, const std::string& path) {
    for (NodeId input : graph->edge(edge).explicit_inputs()) {
      if (graph->path(input) == path) return true;
    }
    return false;
  };
  CHECK(reads(made_by("w/round-1/v0001/big/screening.json"), "w/round-1/v0001/cut.json"));
  CHECK(!reads(made_by("w/round-1/v0001/big/samples.json"), "w/round-1/v0001/cut.json"));
  const EdgeId cut = made_by("w/round-2/v0009/cut.json");
  CHECK(reads(cut, "w/round-2/v0010/wide/facts.json"));
  CHECK(reads(cut, "w/round-2/v0010/ragged/check.json"));
  CHECK(reads(cut, "w/round-0/v0000/big/facts.json"));
  CHECK(reads(cut, "w/round-1/selection.json"));
  CHECK(reads(made_by("w/round-2/selection.json"), "w/round-2/cut.json"));
  // A cut would save nothing if times are modelled.
  campaign.pipeline.time.kind = "modelled";
  CHECK(!graph_of(campaign, "w")->find_node("w/round-1/cut.json"));
}

TEST_CASE(
    "near-duplicates are turned down before anything is paid for them, where there is a rule") {
  CampaignShape campaign = shape();
  campaign.pipeline.time.kind = "measured";
  campaign.pipeline.time.first_cut = 0.2;
  CHECK(write_rounds(campaign).find("novelty") == std::string::npos);
  CHECK(write_rounds(campaign).find("must-be-new") == std::string::npos);
  campaign.pipeline.mutate.least_distance = 0.05;
  auto graph = graph_of(campaign, "w");
  auto made_by = [&](const std::string& path) {
    auto node = graph->find_node(path);
    INFO(path);
    REQUIRE(node);
    return *graph->node(*node).made_by;
  };
  auto reads = [&](EdgeId edge, const std::string& path) {
    for (NodeId input : graph->edge(edge).explicit_inputs()) {
      if (graph->path(input) == path) return true;
    }
    return false;
  };
  const EdgeId first = made_by("w/round-1/v0001/big/novelty.json");
  CHECK(first == made_by("w/round-1/v0008/ragged/novelty.json"));
  CHECK(reads(first, "w/round-0/v0000/big/jaxpr.json"));
  CHECK(reads(first, "w/round-1/v0008/ragged/contract.json"));
  CHECK(!reads(first, "w/round-1/v0008/ragged/jaxpr.json"));
  const EdgeId second = made_by("w/round-2/sketches.jsonl");
  CHECK(reads(second, "w/round-1/sketches.jsonl"));
  CHECK(reads(second, "w/round-1/history.jsonl"));
  CHECK(!reads(second, "w/round-0/v0000/big/jaxpr.json"));
  // Each step that judges a round reads the record of near-duplicates. The seed has no such record,
  // because other variants are compared with the seed.
  for (const char* judge :
       {"w/round-2/selection.json", "w/round-2/race.json", "w/round-2/cut.json"}) {
    INFO(judge);
    CHECK(reads(made_by(judge), "w/round-2/v0009/ragged/novelty.json"));
    CHECK(graph->binding(made_by(judge), "flags").find("--must-be-new") != std::string::npos);
  }
  CHECK(!graph->find_node("w/round-0/v0000/big/novelty.json"));
}

TEST_CASE("a candidate's work is held against what its case needs, a baseline's is not") {
  CampaignShape campaign = shape();
  for (const bool is_measured : {false, true}) {
    campaign.pipeline.time.kind = is_measured ? "measured" : "modelled";
    auto graph = graph_of(campaign, "w");
    auto asks = [&](const std::string& path) {
      const auto node = graph->find_node(path);
      REQUIRE(node);
      const auto& edge = graph->edge(*graph->node(*node).made_by);
      return std::any_of(edge.inputs.begin(), edge.inputs.end(), [&](NodeId input) {
        return graph->path(input) == "w/cases/big/terms.json";
      });
    };
    CHECK(asks("w/round-0/v0000/big/facts.json"));
    CHECK(asks("w/round-1/v0001/big/facts.json"));
    CHECK_FALSE(asks("w/round-0/xla/big/facts.json"));
    CHECK(asks("w/round-1/v0001/big/time.json") == is_measured);
    CHECK_FALSE(asks("w/round-0/xla/big/time.json"));
  }
}

TEST_CASE(
    "what the model is told of the device is an input of what asks the model, and of no more") {
  CampaignShape campaign = shape();
  campaign.files.constants = "mine.json";
  auto graph = graph_of(campaign, "w");
  const NodeId constants = *graph->find_node("mine.json");
  for (size_t i = 0; i < graph->edge_count(); ++i) {
    const auto& edge = graph->edge(static_cast<EdgeId>(i));
    const bool reads =
        std::find(edge.inputs.begin(), edge.inputs.end(), constants) != edge.inputs.end();
    CHECK(reads == (edge.rule->name == "analyze" || edge.rule->name == "trace"));
  }
  CHECK(digest_of(campaign) != digest_of(shape()));
}

TEST_CASE("a round's measuring keeps within its budget") {
  Timing timing;
  timing.finalists = 4;
  timing = within_budget(timing, 60, 8, 2);
  CHECK(2 * (8 * timing.screening.seconds + 4 * timing.confirming.seconds) == Approx(60));
  CampaignShape campaign = shape();
  campaign.timing = timing;
  CHECK(digest_of(campaign) != digest_of(shape()));
}

TEST_CASE("the same shape is the same digest, and another is another") {
  CHECK(digest_of(shape()) == digest_of(shape()));
  CampaignShape other = shape();
  SECTION("a pipeline's text") {
    other.pipeline.source = digest_of("another");
  }
  SECTION("a text") {
    std::swap(other.files.seed, other.files.reference);
  }
  SECTION("a list") {
    other.bench_cases = {"big"};
  }
  SECTION("an item in another list") {
    other.bench_cases = {"big", "wide", "aligned"};
    other.check_cases = {"ragged"};
  }
  SECTION("a number") {
    other.timing.finalists = 9;
  }
  SECTION("a pool of nodes") {
    other.pod_pools["measure"] = "tpu";
  }
  CHECK(digest_of(other) != digest_of(shape()));
}

TEST_CASE("the same shape is the same text, and paths with blanks are escaped") {
  CHECK(write_rounds(shape()) == write_rounds(shape()));
  CampaignShape campaign = shape();
  campaign.files.spec = "my kernels/a:b$c/spec.yaml";
  auto graph = graph_of(campaign, "w");
  CHECK(graph->find_node("my kernels/a:b$c/spec.yaml"));
}

TEST_CASE("a path of the user is one word of every command, whatever its name is") {
  CampaignShape campaign = shape();
  const std::string odd = "it's; touch $X #";
  campaign.files.learnings = odd + "/l.md";
  campaign.files.constants = odd + "/c.json";
  campaign.files.llm = odd + "/models.json";
  campaign.files.proposals = odd;
  campaign.pipeline.mutate.plan = "approve";
  campaign.pipeline.mutate.mix = {{"llm", 1}, {"person", 1}};
  campaign.files.seed = odd + "/kernel.py";
  auto graph = graph_of(campaign, "w");
  const std::string word = R"('it'\''s; touch $X #)";
  auto flags_of = [&](const std::string& output, const std::string& binding = "flags") {
    return " " + graph->binding(maker_of(*graph, output), binding) + " ";
  };
  const std::string asked = flags_of("w/round-1/v0001/prompt.json");
  CHECK(flags_of("w/round-1/models.json", "config").find(word + "/models.json' ") !=
        std::string::npos);
  CHECK(asked.find(" --learnings " + word + "/l.md' ") != std::string::npos);
  CHECK(flags_of("w/round-1/v0001/plan.json").find(" --decision " + word + "/v0001.plan.md' ") !=
        std::string::npos);
  CHECK(flags_of("w/round-1/v0002/kernel.py").find(" --proposal " + word + "/v0002.py' ") !=
        std::string::npos);
  CHECK(flags_of("w/round-1/selection.json").find(" --by-person " + word + "/l.md' ") !=
        std::string::npos);
  CHECK(flags_of("w/round-1/v0001/big/facts.json", "given").find(word + "/c.json' ") !=
        std::string::npos);
  CHECK(graph->extension(maker_of(*graph, "w/seed.py"), "subject") == odd + "/kernel.py");
}

TEST_CASE("the seed's markers reach the shell as they are") {
  CampaignShape campaign = shape();
  campaign.pipeline.kernel.marker_start = "# it's $5: begin";
  campaign.pipeline.kernel.marker_end = "# end";
  auto graph = graph_of(campaign, "w");
  EdgeId normalise = *graph->node(*graph->find_node("w/seed.py")).made_by;
  CHECK(graph->binding(normalise, "flags") == R"(--markers '# it'\''s $5: begin' '# end')");
}
