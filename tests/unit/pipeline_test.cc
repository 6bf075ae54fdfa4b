#include "engine/campaign/pipeline.h"

#include <fmt/format.h>

#include "engine/search/selection/population.h"
#include "engine/search/space/sampler.h"
#include "tests/catch.h"

using evolve::MutatorShare;
using evolve::parse_pipeline;
using evolve::Pipeline;

namespace {

using Mix = std::vector<std::pair<std::string, int>>;

Mix mix_of(const Pipeline& pipeline) {
  Mix out;
  for (const MutatorShare& share : pipeline.mutate.mix) out.emplace_back(share.name, share.weight);
  return out;
}

// Returns the error message that the user sees.
std::string error(const std::string& text) {
  auto result = parse_pipeline(text, "p.yaml");
  if (result) return "no error";
  CHECK(result.error().code == evolve::ErrorCode::bad_input);
  return result.error().message + "\n" + result.error().detail;
}

Pipeline parsed(const std::string& text) {
  auto result = parse_pipeline(text, "p.yaml");
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

const std::string kernel_line = "kernel: { name: k, spec: s.yaml }\n";

// The complete example of the current Glaucis schema, as users write it.
constexpr const char* kGlaucis = R"(kernel:
  name: "my_kernel"
  template: "kernels/my_kernel.py"        # relative to the config file
  reference: "kernels/my_kernel_ref.py"
  evolve_markers:                          # code spelling
    start: "# EVOLVE-BLOCK-START"
    end: "# EVOLVE-BLOCK-END"
shapes:                                    # list of kwarg dicts for fn(**shape)
  - { M: 1024, N: 1024, K: 1024 }
correctness: { method: "allclose", rtol: 1e-2, atol: 1.0 }
evaluator:
  namespace: "default"
  job_template: ".github/ci/kernel-eval-job.yaml"   # relative to repo root
  repo: "sii-xinglong/Glaucis"
  branch: "main"
  poll_interval: 15
  timeout: 600
tpu: { cluster: "tpu7x-cluster", zone: "us-central1" }
batch: { variants_per_round: 5, top_k: 2, max_active_lineages: 4 }
session: { max_iterations: 20, output_dir: "runs/my_kernel" }
)";

}  // namespace

TEST_CASE("a Glaucis config loads unchanged") {
  Pipeline pipeline = parsed(kGlaucis);
  CHECK(pipeline.kernel.name == "my_kernel");
  CHECK(pipeline.kernel.template_path == "kernels/my_kernel.py");
  CHECK(pipeline.kernel.reference_path == "kernels/my_kernel_ref.py");
  CHECK(pipeline.shapes ==
        std::vector<Pipeline::Shape>{{{"M", "1024"}, {"N", "1024"}, {"K", "1024"}}});
  CHECK(pipeline.correctness.rtol == 0.01);
  CHECK(pipeline.correctness.atol == 1.0);
  CHECK(pipeline.evaluator.repo == "sii-xinglong/Glaucis");
  CHECK(pipeline.evaluator.timeout == 600);
  CHECK(pipeline.tpu.cluster == "tpu7x-cluster");
  CHECK(pipeline.batch.variants_per_round == 5);
  CHECK(pipeline.select.top_k == 2);
  CHECK(pipeline.session.max_iterations == 20);
  CHECK(pipeline.session.output_dir == "runs/my_kernel");
  CHECK(pipeline.target->name == "tpu7x");
  CHECK(pipeline.notices.empty());
}

TEST_CASE("what a pipeline does not say has Glaucis' defaults") {
  Pipeline pipeline =
      parsed("kernel: { name: k, template: a.py, reference: b.py }\nshapes: [{ M: 1 }]\n");
  CHECK(pipeline.kernel.marker_start == "# EVOLVE-BLOCK-START");
  CHECK(pipeline.kernel.marker_end == "# EVOLVE-BLOCK-END");
  CHECK(pipeline.correctness.method == "allclose");
  CHECK(pipeline.correctness.rtol == 1e-2);
  CHECK(pipeline.correctness.atol == 1e-2);
  CHECK(pipeline.evaluator.kubernetes_namespace == "default");
  CHECK(pipeline.evaluator.job_template == ".github/ci/kernel-eval-job.yaml");
  CHECK(pipeline.evaluator.repo.empty());
  CHECK(pipeline.evaluator.branch == "main");
  CHECK(pipeline.evaluator.poll_interval == 15);
  CHECK(pipeline.session.max_iterations == 20);
  CHECK(pipeline.session.output_dir == "runs/default");
  CHECK(pipeline.batch.variants_per_round == 1);
  CHECK(pipeline.select.top_k == 1);
  CHECK(pipeline.select.most_lineages == 4);
  CHECK(mix_of(pipeline) == Mix{{"sweep", 1}});
  CHECK(pipeline.mutate.random_seed == 0);
}

TEST_CASE("keys of other Glaucis versions load with a notice") {
  Pipeline pipeline = parsed(R"(kernel: { name: k, template: a.py, reference: b.py }
shapes: [{ B: 2, name: x, causal: true }]
evolution: { population_size: 25, num_islands: 3, max_generations: 50, stagnation_limit: 10, fitness: speedup }
llm: { provider: anthropic, model: m, temperature: 0.7 }
evaluator: { type: ci }
tpu: { cluster: c, zone: z, tpu_type: v7x, namespace: default, image: python:3.12, timeout: 300 }
logging: { output_dir: runs/k, perf_log: true, charts: true }
batch: { diversity_directions: [tiling_strategy] }
tuning_params: { params: { BM: { values: [1, 2] } }, constraints: [], max_configs: 32 }
hardware: { chip: v7x, fp8_flops_tflops: null }
constraints: { vmem_budget_mib: 60, tiling: { min_tile: 64 } }
)");
  REQUIRE(pipeline.notices.size() == 12);
  CHECK(pipeline.notices[0] ==
        "p.yaml:3:1: 'evolution' belongs to another version of Glaucis and has no effect here");
  CHECK(pipeline.notices[3] ==
        "p.yaml:6:29: 'tpu.tpu_type' belongs to another version of Glaucis and has no effect here");
}

TEST_CASE("markers have two spellings, and both at once get a notice") {
  CHECK(parsed("kernel: { name: k, spec: s, markers: { start: '# A', end: '# B' } }\n")
            .kernel.marker_start == "# A");
  CHECK(
      parsed("kernel: { name: k, spec: s, evolve_markers: { end: '# B' } }\n").kernel.marker_end ==
      "# B");
  Pipeline both = parsed(
      "kernel:\n  name: k\n  spec: s\n  markers: { start: '# A' }\n  evolve_markers: { start: '# "
      "C' }\n");
  CHECK(both.kernel.marker_start == "# C");
  CHECK(both.notices == std::vector<std::string>{
                            "p.yaml:4:3: 'kernel.markers' and 'kernel.evolve_markers' are both "
                            "given; the latter is used"});
}

TEST_CASE("a marker is one line of text") {
  CHECK(error("kernel: { name: k, spec: s, evolve_markers: { start: '' } }\n")
            .find("an evolve marker is empty or has several lines") != std::string::npos);
  CHECK(error("kernel: { name: k, spec: s, evolve_markers: { end: \"# a\\n\" } }\n")
            .find("an evolve marker is empty or has several lines") != std::string::npos);
}

TEST_CASE("the extensions of the schema are read") {
  Pipeline pipeline = parsed(kernel_line +
                             "target: tpu7x\n"
                             "mutate: { mutator: sweep, random_seed: 7, explore: 0.5 }\n"
                             "time: { kind: modelled }\n"
                             "select: { top_k: 3 }\n");
  CHECK(pipeline.kernel.spec == "s.yaml");
  CHECK(pipeline.mutate.random_seed == 7);
  CHECK(pipeline.mutate.explore == 0.5);
  CHECK(pipeline.select.top_k == 3);
}

TEST_CASE("the least distance is a share, or there is none") {
  CHECK_FALSE(parsed(kernel_line + "mutate: { explore: 0.5 }\n").mutate.least_distance);
  CHECK(parsed(kernel_line + "mutate: { least_distance: 5e-2 }\n").mutate.least_distance == 0.05);
  for (const char* bad : {"0", "1", "-0.5", "5", "near", "nan"}) {
    INFO(bad);
    const std::string said =
        error(kernel_line + "mutate:\n  least_distance: " + std::string(bad) + "\n");
    CHECK(said.find("mutate.least_distance: expected a") != std::string::npos);
    CHECK(said.find(":3:19: ") != std::string::npos);
  }
}

TEST_CASE("the first cut is a margin, or there is none") {
  CHECK_FALSE(parsed(kernel_line + "time: { kind: measured }\n").time.first_cut);
  CHECK(parsed(kernel_line + "time: { kind: measured, first_cut: 0.2 }\n").time.first_cut == 0.2);
  CHECK(error(kernel_line + "time: { kind: measured, first_cut: -1 }\n").find("first_cut") !=
        std::string::npos);
  const Pipeline modelled = parsed(kernel_line + "time: { first_cut: 0.2 }\n");
  REQUIRE(modelled.notices.size() == 1);
  CHECK(modelled.notices[0].find("'time.first_cut' has no effect") != std::string::npos);
}

TEST_CASE("a limit is of a step that has one, and long enough to begin") {
  CHECK(parsed(kernel_line).limits.empty());
  const auto limits = parsed(kernel_line + "limits: { values: 300, check: 60 }\n").limits;
  CHECK(limits == std::map<std::string, int>{{"values", 300}, {"check", 60}});
  CHECK(error(kernel_line + "limits: { value: 300 }\n").find("did you mean 'values'") !=
        std::string::npos);
  CHECK(error(kernel_line + "limits: { values: 1 }\n").find("limits.values") != std::string::npos);
}

TEST_CASE("an unknown key is shown with its line and the nearest known key") {
  CHECK(error("kernel:\n  name: k\n  spec: s\n  tempalte: x.py\n") ==
        "p.yaml:4:3: unknown key 'tempalte', did you mean 'template'?\n"
        "    4 |   tempalte: x.py\n"
        "      |   ^");
  CHECK(error(kernel_line + "bacth: {}\n") ==
        "p.yaml:2:1: unknown key 'bacth', did you mean 'batch'?\n"
        "    2 | bacth: {}\n"
        "      | ^");
  CHECK(error(kernel_line + "something_else: 1\n") ==
        "p.yaml:2:1: unknown key 'something_else'; known: kernel, shapes, correctness, evaluator, "
        "tpu, cluster, session, batch and 8 more\n"
        "    2 | something_else: 1\n"
        "      | ^");
}

TEST_CASE("a mistyped value says what was expected and what is there") {
  CHECK(error(kernel_line + "batch:\n  top_k: abc\n") ==
        "p.yaml:3:10: batch.top_k: expected a whole number, got 'abc'\n"
        "    3 |   top_k: abc\n"
        "      |          ^");
  CHECK(error(kernel_line + "batch: { top_k: 0 }\n")
            .starts_with("p.yaml:2:17: batch.top_k: expected at least 1, got 0\n"));
  CHECK(error(kernel_line + "batch: { top_k: 2.5 }\n")
            .starts_with("p.yaml:2:17: batch.top_k: expected a whole number, got '2.5'\n"));
  CHECK(error(kernel_line + "batch: { top_k: [1] }\n")
            .starts_with("p.yaml:2:17: batch.top_k: expected a whole number, got a list\n"));
  CHECK(error(kernel_line + "batch:\n  top_k:\n")
            .starts_with("p.yaml:3:3: batch.top_k: expected a whole number, got nothing\n"));
  CHECK(error(kernel_line + "batch: 5\n")
            .starts_with("p.yaml:2:8: batch: expected a map, got '5'\n"));
  CHECK(error(kernel_line + "session: { max_iterations: 5000 }\n")
            .starts_with("p.yaml:2:28: session.max_iterations: expected at most 1000, got 5000\n"));
  CHECK(error(kernel_line + "target: tpu7\n")
            .starts_with("p.yaml:2:9: unknown target 'tpu7', did you mean 'tpu7x'?\n"));
  CHECK(error(kernel_line + "time: { kind: guessed }\n")
            .starts_with("p.yaml:2:15: time.kind: expected modelled or measured, got 'guessed'\n"));
  CHECK(error(kernel_line + "correctness: { rtol: .inf }\n")
            .starts_with("p.yaml:2:22: correctness.rtol: expected a number, got '.inf'\n"));
  CHECK(error(kernel_line + "correctness: { rtol: -1 }\n")
            .starts_with("p.yaml:2:22: correctness.rtol: expected at least 0, got -1\n"));
  CHECK(error(kernel_line + "mutate: { explore: 1.5 }\n")
            .starts_with("p.yaml:2:20: mutate.explore: expected at most 1, got 1.5\n"));
  CHECK(error(kernel_line + "mutate: { random_seed: 99999999999999999999 }\n")
            .find("expected a whole number") != std::string::npos);
  CHECK(error("- kernel\n").starts_with("p.yaml:1:1: expected a map, got a list\n"));
}

TEST_CASE("numbers are numbers however YAML 1.1 sees them") {
  CHECK(parsed(kernel_line + "correctness: { rtol: 1e-2, atol: '5' }\n").correctness.rtol == 0.01);
  CHECK(parsed(kernel_line + "correctness: { rtol: +1E-3 }\n").correctness.rtol == 0.001);
  CHECK(parsed(kernel_line + "batch: { variants_per_round: 0x10 }\n").batch.variants_per_round ==
        16);
  CHECK(parsed(kernel_line + "batch: { variants_per_round: 8.0 }\n").batch.variants_per_round == 8);
  CHECK(parsed(kernel_line + "batch: { variants_per_round: \"8\" }\n").batch.variants_per_round ==
        8);
}

TEST_CASE("a missing key is told where it should be") {
  CHECK(error("batch: {}\n") == "p.yaml:1:1: missing key 'kernel'\n    1 | batch: {}\n      | ^");
  CHECK(error("target: tpu7x\nkernel:\n  spec: s\n") ==
        "p.yaml:2:1: missing key 'name' in 'kernel'\n    2 | kernel:\n      | ^");
  CHECK(error("kernel: { name: k, template: a.py }\nshapes: []\n")
            .starts_with("p.yaml:1:1: missing key 'reference' in 'kernel'\n"));
  CHECK(error("kernel: { name: k, template: a.py, reference: b.py }\n")
            .starts_with("p.yaml:1:1: missing key 'shapes'\n"));
  CHECK(error(kernel_line + "tpu: { zone: z }\n")
            .starts_with("p.yaml:2:1: missing key 'cluster' in 'tpu'\n"));
}

TEST_CASE("an unknown key goes before a missing one, which it often is") {
  CHECK(error("kernel:\n  nmae: k\n  spec: s\n")
            .starts_with("p.yaml:2:3: unknown key 'nmae', did you mean 'name'?\n"));
}

TEST_CASE("a duplicate key names the first one") {
  CHECK(error(kernel_line + "batch:\n  top_k: 1\n  top_k: 2\n") ==
        "p.yaml:4:3: duplicate key 'top_k': first on line 3\n    4 |   top_k: 2\n      |   ^");
}

TEST_CASE("broken YAML is an error with its place") {
  CHECK(error("kernel: { name: k\nbatch: 1\n").starts_with("p.yaml:2:6: broken YAML: "));
  CHECK(error("kernel:\n\tname: k\n") ==
        "p.yaml:2:1: broken YAML: the line is indented with a tab; use spaces\n    2 |  name: "
        "k\n      | ^");
  CHECK(error("").starts_with("p.yaml:1:1: the file is empty\n"));
  CHECK(error("# only a comment\n").starts_with("p.yaml:1:1: the file is empty\n"));
  CHECK(error(kernel_line + "---\n" + kernel_line)
            .starts_with("p.yaml:3:1: a second document ('---'); only one is allowed\n"));
  CHECK(error(kernel_line + "batch: *nowhere\n").starts_with("p.yaml:2:8: broken YAML: "));
  CHECK(error("? [a]\n: 1\n").starts_with("p.yaml:1:3: expected a name as key\n"));
  CHECK(error(std::string("kernel: \0", 9))
            .starts_with("p.yaml:1:1: broken YAML: contains a zero byte\n"));
  CHECK(error(std::string(5000, '[')).find("p.yaml:1:") == 0);
  CHECK(error(std::string(200, '[') + std::string(200, ']')).find("more than 100 levels") !=
        std::string::npos);
}

TEST_CASE("aliases of aliases do not fill the memory") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string one = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + one;
    for (int j = 1; j < 10; ++j) bomb += ", " + one;
    bomb += "]\n";
  }
  CHECK(error(bomb).find("more than 100000 nodes") != std::string::npos);
  CHECK(error("a: &a [*a]\n") != "no error");
}

TEST_CASE("anchors and merge keys are resolved") {
  Pipeline pipeline =
      parsed("kernel: { name: k, spec: s }\nbatch: &b { top_k: 2 }\nselect:\n  <<: *b\n");
  CHECK(pipeline.select.top_k == 2);
}

TEST_CASE("long lines are cut around the caret") {
  std::string padding(100, 'x');
  CHECK(error(kernel_line + "batch: { top_k: 1" + padding + " }\n") ==
        "p.yaml:2:17: batch.top_k: expected a whole number, got '1" + padding +
            "'\n"
            "    2 | batch: { top_k: 1" +
            std::string(52, 'x') +
            "...\n"
            "      |                 ^");
  std::string shown = error("kernel: { name: '" + padding + "', spec: s, top: 1 }\n");
  CHECK(shown ==
        "p.yaml:1:130: unknown key 'top'; known: name, spec, template, reference, markers, "
        "evolve_markers\n"
        "    1 | ..." +
            std::string(36, 'x') +
            "', spec: s, top: 1 }\n"
            "      | " +
            std::string(51, ' ') + "^");
}

TEST_CASE("tabs and letters beyond ASCII take one column in an excerpt") {
  CHECK(error("kernel: { name: 'é\té', spec: s, top: 1 }\n") ==
        "p.yaml:1:35: unknown key 'top'; known: name, spec, template, reference, markers, "
        "evolve_markers\n"
        "    1 | kernel: { name: 'é é', spec: s, top: 1 }\n"
        "      | " +
            std::string(32, ' ') + "^");
  CHECK(error("kernel: { name: k, spec: s }\r\nbad_key: 1\r\n")
            .find("    2 | bad_key: 1\n      | ^") != std::string::npos);
}

TEST_CASE("top_k has one value, in batch or in select") {
  CHECK(error(kernel_line + "batch: { top_k: 2 }\nselect: { top_k: 3 }\n")
            .starts_with(
                "p.yaml:3:18: select.top_k: 3, but batch.top_k is 2; give only one of them\n"));
  Pipeline capped = parsed(kernel_line + "batch: { top_k: 5, max_active_lineages: 3 }\n");
  CHECK(capped.select.top_k == 3);
  CHECK(capped.notices ==
        std::vector<std::string>{"p.yaml:2:10: 'top_k' is 5, but 'batch.max_active_lineages' is 3; "
                                 "3 lineages survive a round"});
}

TEST_CASE("what the spec takes the place of gets a notice") {
  Pipeline pipeline = parsed(kernel_line + "shapes: [{ M: 1 }]\ncorrectness: { rtol: 1 }\n");
  CHECK(pipeline.notices ==
        std::vector<std::string>{
            "p.yaml:2:1: 'shapes' has no effect with 'kernel.spec', whose cases are used",
            "p.yaml:3:1: 'correctness' has no effect with 'kernel.spec', whose tolerance is used"});
}

TEST_CASE("a cluster's pools say which steps nodes run, each in one pool") {
  const std::string base = "kernel: { name: k, spec: s.yaml }\n";
  auto pipeline =
      parse_pipeline(base +
                         "evaluator: { namespace: lab, job_template: job.yaml }\n"
                         "cluster:\n"
                         "  store: gs://b/x\n"
                         "  pools:\n"
                         "    tpu: { steps: [measure], batch: 8, device_kind: tpu7x }\n"
                         "    cpu: { steps: [lower, compile], template: cpu.yaml, jobs: 4 }\n",
                     "p.yaml");
  REQUIRE(pipeline);
  CHECK(pipeline->cluster.space == "lab");
  CHECK(pipeline->cluster.store == "gs://b/x");
  REQUIRE(pipeline->cluster.pools.size() == 2);
  CHECK(pipeline->cluster.pools[0].job_template == "job.yaml");
  CHECK(pipeline->cluster.pools[0].batch == 8);
  CHECK(pipeline->cluster.pools[1].steps == std::vector<std::string>{"lower", "compile"});
  CHECK(pipeline->cluster.pools[1].job_template == "cpu.yaml");

  auto error = [&](const std::string& pools) {
    auto broken =
        parse_pipeline(base + "cluster: { store: s, pools: {" + pools + "} }\n", "p.yaml");
    return broken ? std::string() : broken.error().message;
  };
  CHECK(error("tpu: { steps: [measure], template: t }").empty());
  CHECK(error("tpu: { steps: [measure] }").find("template") != std::string::npos);
  CHECK(error("tpu: { steps: [secret], template: t }").find("nodes cannot run 'secret'") !=
        std::string::npos);
  CHECK(error("a: { steps: [check], template: t }, b: { steps: [check], template: t }")
            .find("'check' already belongs to the pool 'a'") != std::string::npos);
  CHECK(error("A b: { steps: [check], template: t }").find("is not a valid name") !=
        std::string::npos);
  // The device kind is written into a command and the manifest, so only plain words are accepted.
  for (const char* kind : {"\"cpu\\nsteps = evil\"", "\"cpu; true\"", "$x"}) {
    CAPTURE(kind);
    CHECK(error(fmt::format("a: {{ steps: [check], template: t, device_kind: {} }}", kind))
              .find("only letters, digits") != std::string::npos);
  }
}

TEST_CASE("mutators are mixed by weights") {
  const Pipeline mixed =
      parsed(kernel_line + "mutate: { mix: { rewrite: 1, sweep: 3 }, sampler: tpe }\n");
  CHECK(mix_of(mixed) == Mix{{"sweep", 3}, {"rewrite", 1}});
  CHECK(mixed.mutate.sampler == "tpe");
  CHECK(mix_of(parsed(kernel_line + "mutate: { mutator: rewrite }\n")) == Mix{{"rewrite", 1}});
  CHECK(mix_of(parsed(kernel_line + "mutate: { mix: { sweep: 0, rewrite: 2 } }\n")) ==
        Mix{{"rewrite", 2}});
  auto is_told = [&](const std::string& mutate, const std::string& what) {
    const std::string message = error(kernel_line + "mutate: " + mutate + "\n");
    INFO(message);
    CHECK(message.find(what) != std::string::npos);
  };
  is_told("{ mix: { sweeps: 1 } }", "did you mean 'sweep'?");
  is_told("{ mix: { sweep: 0 } }", "mutate.mix: no mutator has a weight");
  is_told("{ mix: { sweep: 1 }, mutator: sweep }", "'mutate.mutator' is given, too");
  is_told("{ sampler: locale }", "mutate.sampler");
}

TEST_CASE("models plan first where they are asked at all") {
  const std::string asks = kernel_line + "mutate: { mutator: llm, llm: m.json, ";
  CHECK(parsed(asks + "}\n").mutate.plan == "none");
  CHECK(parsed(asks + "plan: auto }\n").mutate.plan == "auto");
  // A person's decisions on plans are in the folder `proposals`, which has no other use here.
  CHECK(parsed(asks + "plan: approve, proposals: p }\n").notices.empty());
  CHECK(parsed(asks + "proposals: p }\n").notices.size() == 1);
  CHECK(error(asks + "plan: always }\n").find("got 'always'") != std::string::npos);
  const std::string without = error(kernel_line + "mutate: { plan: approve }\n");
  CHECK(without.find("2:11: mutate.plan: models propose no variants") != std::string::npos);
}

TEST_CASE("the names of samplers and policies are those that the search knows") {
  for (const std::string& name : evolve::search::sampler_names())
    CHECK(parsed(kernel_line + "mutate: { sampler: " + name + " }\n").mutate.sampler == name);
  for (const std::string& name : evolve::search::policy_names())
    CHECK(parsed(kernel_line + "select: { policy: " + name + " }\n").select.policy == name);
  // The pipeline accepts no other names.
  auto expected = [](std::vector<std::string> names) {
    std::string out = "expected " + names.front();
    for (size_t i = 1; i < names.size(); ++i) out += " or " + names[i];
    return out + ", got 'x'";
  };
  CHECK(error(kernel_line + "mutate: { sampler: x }\n")
            .find(expected(evolve::search::sampler_names())) != std::string::npos);
  CHECK(error(kernel_line + "select: { policy: x }\n")
            .find(expected(evolve::search::policy_names())) != std::string::npos);
}

TEST_CASE("a setting that a policy ignores has no effect, and gets a notice") {
  const Pipeline islands = parsed(
      kernel_line + "select: { policy: islands, islands: 3, migration_interval: 2, cells: 9 }\n");
  CHECK(islands.select.islands == 3);
  CHECK(islands.select.migration_interval == 2);
  REQUIRE(islands.notices.size() == 1);
  CHECK(islands.notices[0].find("'select.cells' has no effect: the policy is 'islands'") !=
        std::string::npos);
  CHECK(parsed(kernel_line + "select: { ties: point }\n").select.by_point);
  CHECK(error(kernel_line + "batch: { top_k: 20, max_active_lineages: 20 }\n"
                            "select: { policy: islands, islands: 51 }\n")
            .find("51 islands of 20 survivors each are more than 1000") != std::string::npos);
}

TEST_CASE("a pipeline keeps the digest of its text") {
  const std::string text = kernel_line + "mutate: { explore: 0.5 }\n";
  CHECK(parsed(text).source == parsed(text).source);
  CHECK(parsed(text).source != parsed(kernel_line).source);
  CHECK(parsed(text).source != evolve::Digest{});
}
