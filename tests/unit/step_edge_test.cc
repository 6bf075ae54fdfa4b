// Tests of the edges of steps: what each function of StepEdge adds to the edge and to the step's
// command line. The edge's text is read back as the engine reads it.
#include "engine/campaign/generator/step_edge.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/campaign/generator/variant_files.h"
#include "engine/graph/manifest.h"
#include "engine/search/judging.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

using Paths = std::vector<std::string>;

// Returns the graph of a campaign's manifest on a machine where the work folder needs quotes.
std::unique_ptr<Graph> graph_of(const StepText& text) {
  std::string manifest = "work = my work\nwork_word = 'my work'\nbar = |\ntoolchain = jax-1\n";
  for (const char* name : {"python", "rules", "steps"})
    manifest += fmt::format("{0} = {0}\n{0}_word = {0}\n", name);
  for (const char* step : {"gate", "mutate", "analyze", "select", "check", "compile", "rewrite",
                           "expect", "lower", "values"}) {
    manifest += fmt::format("rule {0}\n  command = {0} $flags $arguments\n", step);
  }
  manifest += text.text();
  auto graph = std::make_unique<Graph>();
  auto parsed = parse_manifest(
      "build.ninja", [&](const std::string&) { return Result<std::string>(manifest); }, *graph);
  INFO((parsed ? "" : parsed.error().message));
  REQUIRE(parsed);
  return graph;
}

// An edge as the engine reads it.
struct Read {
  std::unique_ptr<Graph> graph;
  EdgeId id{0};

  [[nodiscard]] const Edge& edge() const { return graph->edge(id); }
  [[nodiscard]] Paths paths(std::span<const NodeId> nodes) const {
    Paths out;
    for (NodeId node : nodes) out.push_back(graph->path(node));
    return out;
  }
  [[nodiscard]] Paths explicit_inputs() const { return paths(edge().explicit_inputs()); }
  [[nodiscard]] Paths implicit_inputs() const {
    return paths(edge().content_inputs().last(edge().implicit_inputs));
  }
  [[nodiscard]] Paths order_only() const {
    return paths(edge().inputs.last(edge().order_only_inputs));
  }
  [[nodiscard]] std::string operator[](const char* name) const {
    return graph->extension(id, name);
  }
};

Read read(const StepEdge& edge, bool is_sandboxed = true,
          const std::map<std::string, std::string>& pod_pools = {}) {
  StepText text(is_sandboxed, pod_pools);
  text.add(edge);
  return {graph_of(text)};
}

}  // namespace

TEST_CASE("a file that a flag names is in the edge, and a word of the command") {
  StepEdge edge("gate", "v0001");
  edge.in("kernel", "$work/k.py").out("out", "$work/o.json").after("learned", "$work/l.md");
  const Read gate = read(edge);
  CHECK(gate.explicit_inputs() == Paths{"my work/k.py"});
  CHECK(gate.paths(gate.edge().outputs) == Paths{"my work/o.json"});
  CHECK(gate.order_only() == Paths{"my work/l.md"});
  CHECK(gate["flags"] == "--kernel 'my work'/k.py --out 'my work'/o.json --learned 'my work'/l.md");
  CHECK(gate["subject"] == "v0001");
  CHECK(gate["step"] == "gate");
}

TEST_CASE("a path with marks of the shell and of Ninja is one file and one word") {
  StepEdge edge("gate", "v0001");
  const std::string odd = "it's: a $X | b.py";
  edge.in("kernel", odd).in("many", {odd, "plain.py"}).writes("out");
  const Read gate = read(edge);
  CHECK(gate.explicit_inputs() == Paths{odd, odd, "plain.py"});
  const std::string word = R"('it'\''s: a $X | b.py')";
  CHECK(gate["flags"] == "--kernel " + word + " --many " + word + " plain.py");
}

TEST_CASE("flags and files keep the order of the calls") {
  StepEdge edge("gate", "v0001");
  edge.flag("fast").in("b", "b1").flag("times", 3).reads("a").in("c", {"c2", "c1"});
  edge.reads(Paths{"e", "d"}).out("z", "z1").writes("y").flag("share", 0.5).flag("to", "end");
  const Read gate = read(edge);
  CHECK(gate["flags"] == "--fast --b b1 --times 3 --c c2 c1 --z z1 --share 0.5 --to end");
  CHECK(gate.explicit_inputs() == Paths{"b1", "a", "c2", "c1", "e", "d"});
  CHECK(gate.paths(gate.edge().outputs) == Paths{"z1", "y"});
  CHECK(edge.inputs() == gate.explicit_inputs());
  CHECK(edge.outputs() == Paths{"z1", "y"});
}

TEST_CASE("files that no flag names are in the edge alone") {
  StepEdge edge("gate", "v0001");
  edge.reads("in").writes("out").uses("$rules/lib.py");
  const Read gate = read(edge);
  CHECK(gate.explicit_inputs() == Paths{"in"});
  CHECK(gate.implicit_inputs() == Paths{"steps/gate", "rules/lib.py"});
  CHECK(gate["flags"].empty());
  CHECK(edge.used() == Paths{"$rules/lib.py"});
}

TEST_CASE("a variable names a file, where the rule's command has one for it") {
  StepEdge edge("gate", "v0001");
  edge.in_variable("given", "$work/a.json").flags_in("cost").flag("fast").writes("out");
  const Read gate = read(edge);
  CHECK(gate.explicit_inputs() == Paths{"my work/a.json"});
  CHECK(gate["cost"] == "--fast");
  CHECK(gate["flags"].empty());
}

TEST_CASE("a native step is a program of its own, which runs once") {
  StepEdge edge("gate", "v0001");
  edge.flag("fast").set("depfile", "d").writes("out");
  const Read gate = read(edge, false);
  CHECK(gate.implicit_inputs() == Paths{"steps/gate"});
  CHECK(gate.order_only().empty());
  CHECK(gate["flags"] == "--fast");
  CHECK(gate["depfile"] == "d");
  for (const char* name : {"arguments", "worker", "toolchain"}) CHECK(gate[name].empty());
  CHECK(gate.graph->extensions(gate.id).retries == 0);
}

TEST_CASE("a Python step runs from its canonical source, and again after a fault of its own") {
  StepEdge edge("compile", "v0001 big");
  edge.in("kernel", "$work/k.py").set("depfile", "$work/d").writes("out").uses("$rules/lib.py");
  const Read compile = read(edge);
  CHECK(compile["arguments"] ==
        "'my work'/rules steps.compile --kernel 'my work'/k.py --depfile 'my work'/d");
  CHECK(compile["flags"].empty());
  CHECK(compile.implicit_inputs() ==
        Paths{"rules/lib.py", "my work/rules/steps/compile.py", "my work/rules/__main__.py"});
  CHECK(compile.order_only() == Paths{"my work/rules/all"});
  CHECK(compile["worker"] == "python rules/process/worker.py");
  CHECK(compile["toolchain"] == "jax-1");
  CHECK(compile.graph->extensions(compile.id).retries > 0);
  CHECK(compile.graph->extensions(compile.id).final_exit_codes == std::set<int>{2});
}

TEST_CASE("steps that run candidates are told where there is no sandbox, others are not") {
  const auto [step, runs_candidates] = GENERATE(table<const char*, bool>({
      {"check", true},
      {"rewrite", true},
      {"lower", true},
      {"values", true},
      {"compile", false},
      {"expect", false},
      {"gate", false},
  }));
  CAPTURE(step);
  auto is_told = [&](bool is_sandboxed) {
    const Read edge = read(StepEdge(step, "v0001").flag("fast").writes("out"), is_sandboxed);
    return (edge["arguments"] + edge["flags"]).find("--unsafe-no-sandbox") != std::string::npos;
  };
  CHECK_FALSE(is_told(true));
  CHECK(is_told(false) == runs_candidates);
}

TEST_CASE("a step that goes by the names of its files shares no results") {
  const auto [step, is_portable] = GENERATE(table<const char*, bool>(
      {{"compile", true}, {"analyze", true}, {"mutate", false}, {"select", false}}));
  CAPTURE(step);
  CHECK((read(StepEdge(step, "v0001").writes("out"))["portable"] == "1") == is_portable);
}

TEST_CASE("a step runs in the node pool that is named for it") {
  const std::map<std::string, std::string> pools = {{"compile", "big"}};
  auto pool = [&](const char* step) {
    const Read edge = read(StepEdge(step, "v0001").writes("out"), true, pools);
    return edge.graph->extensions(edge.id).node_pool;
  };
  CHECK(pool("compile") == "big");
  CHECK(pool("gate").empty());
}

TEST_CASE("one text holds many edges, and names for some of their files") {
  StepText text(true, {});
  text.comment("# a campaign\n");
  text.add(StepEdge("gate", "v0001").in("kernel", "k").out("out", "mid"));
  text.add(StepEdge("mutate", "v0002").in("base", "mid").out("out", "w/end"));
  text.add_phony("all", {"mid", "w/end"});
  const auto graph = graph_of(text);
  CHECK(graph->edge_count() == 3);
  CHECK(*graph->default_targets() == std::vector{*graph->find_node("all")});
  const Edge& all = graph->edge(*graph->node(*graph->find_node("all")).made_by);
  CHECK(all.is_phony());
  CHECK(all.inputs.size() == 2);
  CHECK_FALSE(graph->find_cycle(*graph->default_targets()));
}

TEST_CASE("a variant's files have places of their own in its folder") {
  CHECK(VariantFile{FileKind::record, "w/v0001"}.path() == "w/v0001/variant.json");
  CHECK(VariantFile{FileKind::facts, "w/v0001/big"}.path() == "w/v0001/big/facts.json");
  VariantFiles files;
  for (FileKind kind : {FileKind::record, FileKind::kernel, FileKind::canonical, FileKind::lower,
                        FileKind::contract, FileKind::novelty, FileKind::check, FileKind::interpret,
                        FileKind::compile, FileKind::facts, FileKind::screening, FileKind::time,
                        FileKind::timeline, FileKind::values}) {
    files.push_back({kind, "w"});
  }
  const Paths paths = all_paths(files);
  CHECK(std::set<std::string>(paths.begin(), paths.end()).size() == files.size());
}

TEST_CASE("files are left out by their kind, and the others keep their order") {
  const VariantFiles files = {{FileKind::values, "b"},
                              {FileKind::time, "b"},
                              {FileKind::kernel, "a"},
                              {FileKind::time, "a"},
                              {FileKind::record, "a"}};
  CHECK(paths_without(files, {FileKind::time, FileKind::kernel}) ==
        Paths{"b/values.json", "a/variant.json"});
  CHECK(paths_without(files, {}) == all_paths(files));
  CHECK(paths_without(files, {FileKind::lower}).size() == files.size());
}

TEST_CASE("a judging step's report is the file in which those who judge look for it") {
  const std::vector<JudgedCase> cases = {{.name = "small", .is_check = true, .must_be_new = true},
                                         {.name = "big", .is_bench = true}};
  std::set<std::string> steps;
  for (const StepReport& report : judging_reports(cases)) {
    INFO(report.step);
    steps.insert(report.step);
    CHECK(VariantFile{report_of_step(report.step), "w"}.path() == "w/" + report.file);
  }
  CHECK(steps.size() == 9);
}
