// Tests of the build graph: nodes by path, edges, cycles, targets, and the values of variables.
#include "engine/graph/graph.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/graph/manifest.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

using Names = std::vector<std::string>;

const std::string kRule = "rule r\n  command = r\n";

// Parses a manifest. Returns the error's message; empty: no error.
std::string parse(const std::string& text, Graph& graph, const ManifestOptions& options = {}) {
  auto status = parse_manifest(
      "build.ninja", [&](const std::string&) { return Result<std::string>(text); }, graph, options);
  return status ? "" : status.error().message;
}

std::string error_of(const std::string& text) {
  Graph graph;
  return parse(text, graph);
}

EdgeId edge_of(const Graph& graph, const std::string& output) {
  return graph.node(*graph.find_node(output)).made_by.value();
}

template <typename BuildPods>
Names paths_of(const Graph& graph, const BuildPods& nodes) {
  Names out;
  for (NodeId node : nodes) out.push_back(graph.path(node));
  return out;
}

// Returns the paths of a list of targets, or only the error's message.
Names shown(const Graph& graph, const Result<std::vector<NodeId>>& nodes) {
  return nodes ? paths_of(graph, *nodes) : Names{nodes.error().message};
}

// Returns the first outputs of the edges that use the file.
Names users_of(const Graph& graph, const std::string& path) {
  Names out;
  graph.for_each_user(*graph.find_node(path), [&](EdgeId user) {
    out.push_back(graph.path(graph.edge(user).outputs.front()));
  });
  return out;
}

// Returns the cycle above the targets of a manifest that has the rule "r"; empty: no cycle.
std::string cycle_of(const std::string& edges, const Names& targets,
                     const ManifestOptions& options = {}) {
  Graph graph;
  REQUIRE(parse(kRule + edges, graph, options).empty());
  auto nodes = graph.targets(targets);
  REQUIRE(nodes);
  return graph.find_cycle(*nodes).value_or("");
}

}  // namespace

TEST_CASE("all ways to write a path lead to one node") {
  Graph graph;
  const NodeId node = graph.node("a/b");
  for (const char* path : {"./a/b", "a//b", "a/./b", "x/../a/b", "a/b/", "a/b/c/..", "././/a/b"}) {
    CHECK(graph.node(path) == node);
    CHECK(graph.find_node(path) == node);
  }
  CHECK(graph.node_count() == 1);
  CHECK(graph.path(node) == "a/b");
  for (const char* path : {"/a/b", "../a/b", "a/B", "a", "a/.b"}) CHECK(graph.node(path) != node);
  CHECK(graph.path(graph.node("x/../../y")) == "../y");
  CHECK(graph.path(graph.node("x/..")) == ".");
}

TEST_CASE("a search makes no node") {
  Graph graph;
  graph.node("a");
  CHECK_FALSE(graph.find_node("b"));
  CHECK_FALSE(graph.find_node(""));
  CHECK_FALSE(graph.find_node("./b"));
  CHECK(graph.node_count() == 1);
}

TEST_CASE("a node keeps its path when the text that it came from is gone") {
  Graph graph;
  std::string text = "some/path";
  const NodeId copied = graph.node(text);
  text.assign(text.size(), 'x');
  CHECK(graph.path(copied) == "some/path");
  // The canonical form of the first path is not in the kept text, so the graph makes a copy.
  const std::string_view kept = graph.keep_text("a/./b a/c");
  const NodeId made = graph.node(kept.substr(0, 5), true);
  const NodeId viewed = graph.node(kept.substr(6), true);
  CHECK(graph.path(made) == "a/b");
  CHECK(graph.node(viewed).path.data() == kept.data() + 6);
}

TEST_CASE("every path is found again in a large graph") {
  Graph graph;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) graph.node(fmt::format("dir{}/file{}", i % 7, i));
  CHECK(graph.node_count() == kCount);
  bool is_found = true;
  for (int i = 0; i < kCount; ++i) {
    is_found = is_found && graph.find_node(fmt::format("dir{}/file{}", i % 7, i)) == NodeId{i};
  }
  CHECK(is_found);
  CHECK_FALSE(graph.find_node("dir0/file1"));
}

TEST_CASE("an edge tells its inputs and outputs apart by kind") {
  Graph graph;
  REQUIRE(parse(kRule + "build o1 o2 | io: r a b | c || d e |@ v\nbuild v: r\n", graph).empty());
  const Edge& edge = graph.edge(edge_of(graph, "io"));
  CHECK(paths_of(graph, edge.explicit_outputs()) == Names{"o1", "o2"});
  CHECK(paths_of(graph, edge.outputs) == Names{"o1", "o2", "io"});
  CHECK(paths_of(graph, edge.explicit_inputs()) == Names{"a", "b"});
  CHECK(paths_of(graph, edge.content_inputs()) == Names{"a", "b", "c"});
  CHECK(paths_of(graph, edge.inputs) == Names{"a", "b", "c", "d", "e"});
  CHECK(paths_of(graph, edge.validations) == Names{"v"});
}

TEST_CASE("a file's users come in the manifest's order, once for each time that they name it") {
  Graph graph;
  REQUIRE(parse(kRule + "build x: r a\nbuild y: r b | a || ./a\nbuild z: r |@ a\n", graph).empty());
  CHECK(users_of(graph, "a") == Names{"x", "y", "y"});
  CHECK(users_of(graph, "b") == Names{"y"});
  CHECK_FALSE(graph.has_users(*graph.find_node("x")));
}

TEST_CASE("two edges cannot make one file, however it is written") {
  CHECK(error_of(kRule + "build a: r\nbuild x/../a: r\n").ends_with("multiple rules generate a"));
  CHECK(
      error_of(kRule + "build a | b: r\nbuild c | b: r\n").ends_with("multiple rules generate b"));
  CHECK(error_of(kRule + "build a b | ./a: r\n")
            .ends_with("a is defined as an output multiple times"));
}

TEST_CASE("what an edge is found to make and read late is implicit") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = r $in -o $out\n"
                "build out: r a | b || c\nbuild other: r late\n",
                graph)
              .empty());
  const EdgeId id = edge_of(graph, "out");
  REQUIRE(graph.extend_edge(id, std::vector{graph.node("more")},
                            std::vector{graph.node("late"), graph.node("later")}));
  const Edge& edge = graph.edge(id);
  CHECK(graph.binding(id, "command") == "r a -o out");
  CHECK(paths_of(graph, edge.outputs) == Names{"out", "more"});
  CHECK(paths_of(graph, edge.content_inputs()) == Names{"a", "b", "late", "later"});
  CHECK(paths_of(graph, edge.inputs) == Names{"a", "b", "late", "later", "c"});
  CHECK(edge_of(graph, "more") == id);
  CHECK(users_of(graph, "late") == Names{"other", "out"});

  auto again = graph.extend_edge(id, std::vector{graph.node("other")}, {});
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ErrorCode::bad_input);
  CHECK(again.error().message == "multiple rules generate other");
  CHECK_FALSE(graph.extend_edge(id, std::vector{graph.node("out")}, {}));
}

TEST_CASE("without names the targets are the defaults, or else what no edge uses") {
  const std::string edges =
      kRule + "build a b: r in\nbuild c: r b\nbuild check: r\nbuild d: r |@ check\n";
  Graph graph;
  REQUIRE(parse(edges, graph).empty());
  CHECK(shown(graph, graph.targets({})) == Names{"a", "c", "check", "d"});
  Graph with_default;
  REQUIRE(parse(edges + "default d b\ndefault ./in\n", with_default).empty());
  CHECK(shown(with_default, with_default.targets({})) == Names{"d", "b", "in"});
  CHECK(shown(with_default, with_default.root_nodes()) == Names{"a", "c", "check", "d"});
}

TEST_CASE("a graph in which each output is used has no targets of its own") {
  Graph graph;
  REQUIRE(parse(kRule + "build a: r b\nbuild b: r a\n", graph).empty());
  auto roots = graph.default_targets();
  REQUIRE_FALSE(roots);
  CHECK(roots.error().code == ErrorCode::bad_input);
  CHECK(roots.error().message == "could not determine root nodes of build graph");
  // Such a graph has targets only if there is a default, or if a target is named.
  graph.add_default(*graph.find_node("b"));
  CHECK(shown(graph, graph.default_targets()) == Names{"b"});
  CHECK(shown(graph, graph.targets(Names{"a"})) == Names{"a"});
  Graph empty;
  CHECK(shown(empty, empty.default_targets()).empty());
}

TEST_CASE("targets are found by name, in the order of the names, sources too") {
  Graph graph;
  REQUIRE(parse(kRule + "build dir/out: r in\nbuild b: r\ndefault b\n", graph).empty());
  CHECK(shown(graph, graph.targets(Names{"in", "dir//./out"})) == Names{"in", "dir/out"});
}

TEST_CASE("an unknown target is told with a name that is near, and with none that is far") {
  Graph graph;
  REQUIRE(parse(kRule + "build program: r source.c\nbuild b: r\n", graph).empty());
  auto error = [&](const std::string& name) {
    return shown(graph, graph.targets(Names{"b", name}));
  };
  CHECK(error("porgram") == Names{"unknown target 'porgram', did you mean 'program'?"});
  CHECK(error("sorce.c") == Names{"unknown target 'sorce.c', did you mean 'source.c'?"});
  CHECK(error("Program") == Names{"unknown target 'Program', did you mean 'program'?"});
  CHECK(error("c") == Names{"unknown target 'c'"});
  CHECK(error("something/else") == Names{"unknown target 'something/else'"});
  CHECK(error("") == Names{"unknown target ''"});
}

TEST_CASE("a graph whose ways meet again has no cycle") {
  CHECK(cycle_of("build a: r b c\nbuild b: r d d\nbuild c: r d | b\nbuild d: r in\n", {}).empty());
  CHECK(cycle_of("build a: r in\n", {"in"}).empty());
}

TEST_CASE("a cycle is found through inputs of every kind") {
  CHECK(cycle_of("build a: r a\n", {"a"}) == "a -> a");
  CHECK(cycle_of("build a: r | b\nbuild b: r || a\n", {"b"}) == "b -> a -> b");
  CHECK(cycle_of("build a | a2: r b\nbuild b: r a2\n", {"a"}) == "a2 -> b -> a2");
}

TEST_CASE("a cycle is told without the way that leads to it") {
  CHECK(cycle_of("build a: r b\nbuild b: r c\nbuild c: r d\nbuild d: r b\n", {"a"}) ==
        "b -> c -> d -> b");
}

TEST_CASE("a cycle through an edge of two outputs begins with the output that closes it") {
  CHECK(cycle_of("build a b: r c\nbuild c: r a\n", {"b"}) == "a -> c -> a");
}

TEST_CASE("only what the targets need is searched for a cycle, each target in turn") {
  const std::string edges = "build ok: r in\nbuild a: r b\nbuild b: r a\n";
  CHECK(cycle_of(edges, {"ok", "in"}).empty());
  CHECK(cycle_of(edges, {"ok", "b"}) == "b -> a -> b");
}

TEST_CASE("a validation may need what it validates, but no cycle above itself") {
  CHECK(cycle_of("build a: r |@ v\nbuild v: r a |@ a\n", {"a"}).empty());
  CHECK(cycle_of("build a: r b\nbuild b: r |@ v\nbuild v: r w\nbuild w: r v\n", {"a"}) ==
        "v -> w -> v");
  CHECK(cycle_of("build a: r |@ v\nbuild v: r |@ w\nbuild w: r w\n", {"a"}) == "w -> w");
}

TEST_CASE("a phony edge that needs itself is told with the option that allows it") {
  const ManifestOptions strict{.is_phony_cycle_error = true};
  CHECK(cycle_of("build a: phony a b\n", {"a"}, strict) == "a -> a [-w phonycycle=err]");
  CHECK(cycle_of("build a: phony a b\n", {"a"}).empty());
  // Messages about cycles that Ninja's option does not cover do not name the option.
  CHECK(cycle_of("build a: phony | a\n", {"a"}) == "a -> a");
  CHECK(cycle_of("build a: phony b\nbuild b: phony a\n", {"a"}, strict) == "a -> b -> a");
}

TEST_CASE("a very long chain is searched for a cycle") {
  constexpr int kLength = 50000;
  std::string edges;
  for (int i = 1; i < kLength; ++i) edges += fmt::format("build n{}: r n{}\n", i, i - 1);
  const std::string last = fmt::format("n{}", kLength - 1);
  CHECK(cycle_of(edges, {last}).empty());
  CHECK(cycle_of(edges + fmt::format("build n0: r {}\n", last), {last}).ends_with("n0 -> " + last));
}

TEST_CASE("a variable is the edge's, else the rule's, else the file's") {
  Graph graph;
  REQUIRE(parse("v = file\n"
                "depfile = file.d\n"
                "command = file\n"
                "rule r\n  command = $v $description\n  description = rule\n"
                "build a: r\n"
                "build b: r\n  v = edge\n  description = own\n"
                "build c: r\n  description =\n"
                "build d: r\n  v = 1\n  v = 2\n",
                graph)
              .empty());
  CHECK(graph.binding(edge_of(graph, "a"), "command") == "file rule");
  CHECK(graph.binding(edge_of(graph, "b"), "command") == "edge own");
  CHECK(graph.binding(edge_of(graph, "c"), "command") == "file ");
  CHECK(graph.binding(edge_of(graph, "d"), "command") == "2 rule");
  CHECK(graph.binding(edge_of(graph, "a"), "depfile") == "file.d");
  CHECK(graph.binding(edge_of(graph, "a"), "rspfile").empty());
}

TEST_CASE("$in and $out are the explicit paths, quoted for the shell where that is asked for") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = r $in -o $out\n  rspfile = $out.rsp\n"
                "  rspfile_content = $in_newline\n"
                "build o$ 1 | o2: r a$ b c$$d it's | e || f\n",
                graph)
              .empty());
  const EdgeId id = edge_of(graph, "o2");
  CHECK(graph.binding(id, "command") == "r 'a b' 'c$d' 'it'\\''s' -o 'o 1'");
  CHECK(graph.binding(id, "rspfile_content") == "'a b'\n'c$d'\n'it'\\''s'");
  CHECK(graph.binding(id, "rspfile", Graph::Quoting::none) == "o 1.rsp");
  CHECK(graph.binding(id, "in", Graph::Quoting::none) == "a b c$d it's");
}

TEST_CASE("no variable hides an edge's paths") {
  Graph graph;
  REQUIRE(
      parse("in = file\nrule r\n  command = r $in $out\nbuild a: r b\n  in = x\n  out = y\n", graph)
          .empty());
  CHECK(graph.binding(edge_of(graph, "a"), "command") == "r b a");
}

TEST_CASE("an edge's own variable is no rule's and no file's") {
  Graph graph;
  REQUIRE(parse("step = file\nsubject = s\n"
                "rule r\n  command = r\n  description = rule\n"
                "build a: r\n"
                "build b: r\n  step = first\n  step = own $subject\n",
                graph)
              .empty());
  CHECK(graph.extension(edge_of(graph, "a"), "step").empty());
  CHECK(graph.extension(edge_of(graph, "a"), "description").empty());
  CHECK(graph.extension(edge_of(graph, "b"), "step") == "own s");
}

TEST_CASE("what an edge asks of evolve is read once, when the edge is read") {
  Graph graph;
  REQUIRE(parse("size = 1 GiB\n" + kRule +
                    "build a: r\n  memory = 1\n  memory = $size\n"
                    "build b: r\n  step = x\n"
                    "build c: r\n  memory =\n"
                    "size = wrong\n",
                graph)
              .empty());
  CHECK(graph.extensions(edge_of(graph, "a")).needs == Resources{{"memory", 1 << 30}});
  // Edges that ask for nothing have the defaults. An empty value asks for nothing.
  CHECK(graph.extensions(edge_of(graph, "b")) == Extensions{});
  CHECK(graph.extensions(edge_of(graph, "c")) == Extensions{});
  Extensions changed;
  changed.retries = 2;
  graph.set_extensions(edge_of(graph, "b"), changed);
  CHECK(graph.extensions(edge_of(graph, "b")).retries == 2);
  CHECK(graph.extensions(edge_of(graph, "c")).retries == 0);
}

TEST_CASE("a rule's variables that name each other are told, wherever the circle is") {
  auto rule = [](const std::string& bindings) {
    return error_of("rule r\n" + bindings + "build a: r\n");
  };
  CHECK(rule("  command = $command\n") == "cycle in rule variables: command -> command");
  CHECK(rule("  command = c $depfile\n  depfile = $deps\n  deps = $depfile\n") ==
        "cycle in rule variables: depfile -> deps -> depfile");
  // Cycles are found even if the command does not lead to them.
  CHECK(rule("  command = c\n  depfile = $deps\n  deps = $description\n  description = $deps\n") ==
        "cycle in rule variables: deps -> description -> deps");
  // A variable may be named twice.
  CHECK(rule("  command = $deps $deps $depfile\n  depfile = $deps\n  deps = x\n").empty());
}

TEST_CASE("an edge's own variable breaks a circle, and a file's does not") {
  const std::string rule =
      "description = file\nrule r\n  command = $description\n"
      "  description = $command\n";
  CHECK(error_of(rule + "build a: r\n  command = own\n").empty());
  Graph graph;
  CHECK(parse(rule + "build a: r\n", graph) ==
        "cycle in rule variables: description -> command -> description");
  CHECK(graph.find_variable_cycle(edge_of(graph, "a")));
  CHECK(graph.binding(edge_of(graph, "a"), "command").empty());  // and the evaluation ends
}

TEST_CASE("a value is cut off at the limit, and that is told with the edge") {
  Graph graph;
  CHECK(graph.most_text() == Graph::kMostText);
  graph.set_most_text(10);
  REQUIRE(parse("rule r\n  command = $in\n  description = $out $out\n"
                "build out: r aaaa bbbb cccc\nbuild b: r c\n",
                graph)
              .empty());
  const EdgeId id = edge_of(graph, "out");
  CHECK(graph.binding(id, "command") == "aaaa bbbb ");
  auto status = graph.check_length(id, "command", graph.binding(id, "command"));
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::bad_input);
  CHECK(status.error().message == "command of 'out': longer than 10 bytes");
  CHECK(graph.check_length(id, "description", graph.binding(id, "description")));
  CHECK(graph.binding(edge_of(graph, "b"), "command") == "c");
}

TEST_CASE(
    "an edge runs in the pool that it or its rule names, or else in the one without a limit") {
  Graph graph;
  REQUIRE(parse("pool deep\n  depth = 3\n"
                "rule r\n  command = r\n  pool = deep\nrule s\n  command = s\n"
                "build a: r\nbuild b: r\n  pool = console\nbuild c: s\nbuild d: r\n  pool =\n",
                graph)
              .empty());
  auto pool = [&](const char* output) { return graph.edge(edge_of(graph, output)).pool; };
  CHECK(pool("a") == graph.find_pool("deep"));
  CHECK(pool("a")->depth == 3);
  CHECK(pool("b") == graph.find_pool("console"));
  CHECK(pool("b")->depth == 1);
  CHECK(pool("c") == graph.find_pool(""));
  CHECK(pool("c")->depth == 0);
  CHECK(pool("d") == graph.find_pool(""));
  CHECK(graph.find_pool("none") == nullptr);
}

TEST_CASE("a scope sees the variables above it, and no scope above sees its variables") {
  Graph graph;
  Scope* below = graph.new_scope(graph.root_scope());
  const Rule* rule = graph.add_rule({"r", {}});
  const Rule* own = graph.add_rule({"r", {}});
  graph.root_scope()->add_rule(rule);
  graph.root_scope()->set("x", "above");
  graph.root_scope()->set("y", "above");
  CHECK(below->find_rule("r") == rule);
  CHECK(below->own_rule("r") == nullptr);
  CHECK(below->find_rule("phony")->is_phony);
  below->add_rule(own);
  below->set("x", "below");
  below->set("y", "");
  CHECK(below->find_rule("r") == own);
  CHECK(graph.root_scope()->find_rule("r") == rule);
  CHECK(below->get("x") == "below");
  CHECK(below->get("y").empty());  // set to an empty value
  CHECK(graph.root_scope()->get("x") == "above");
  CHECK(below->find_rule("none") == nullptr);
}

TEST_CASE("an edge's dyndep file is known as one, and as read once it was read") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = r\n  dyndep = $dd\n"
                "build a: r in || x.dd\n  dd = ./x.dd\nbuild b: r\n",
                graph)
              .empty());
  const NodeId file = *graph.find_node("x.dd");
  CHECK(graph.edge(edge_of(graph, "a")).dyndep == file);
  CHECK_FALSE(graph.edge(edge_of(graph, "b")).dyndep);
  CHECK(graph.is_dyndep(file));
  CHECK_FALSE(graph.is_dyndep(*graph.find_node("in")));
  CHECK_FALSE(graph.is_dyndep_loaded(file));
  graph.set_dyndep_loaded(file);
  CHECK(graph.is_dyndep_loaded(file));
}
