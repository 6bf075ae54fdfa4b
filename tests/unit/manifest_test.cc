#include "engine/graph/manifest.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "engine/graph/extensions.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

// Parses the manifest `text`, which may include `files`. Returns the error as the user reads it;
// empty: no error.
std::string parse(const std::string& text, Graph& graph,
                  const std::map<std::string, std::string>& files = {}) {
  LoadText load = [&](const std::string& path) -> Result<std::string> {
    if (path == "build.ninja") return text;
    auto it = files.find(path);
    if (it == files.end()) return bad_input("No such file or directory");
    return it->second;
  };
  auto status = parse_manifest("build.ninja", load, graph);
  if (status) return "";
  return status.error().message +
         (status.error().detail.empty() ? "" : "\n" + status.error().detail);
}

std::string error_of(const std::string& text) {
  Graph graph;
  return parse(text, graph);
}

}  // namespace

TEST_CASE("a rule's bindings are evaluated late, in the edge's scope") {
  Graph graph;
  REQUIRE(parse("x = file\n"
                "rule r\n"
                "  command = run $x $in -o $out ${flag}\n"
                "build out: r a b | c || d\n"
                "  x = edge\n"
                "  flag = -O\n"
                "build two: r a\n"
                "x = later\n",
                graph) == "");
  CHECK(graph.binding(EdgeId{0}, "command") == "run edge a b -o out -O");
  CHECK(graph.binding(EdgeId{1}, "command") == "run later a -o two ");
}

TEST_CASE("variables of an edge see the file's values at that line") {
  Graph graph;
  REQUIRE(parse("x = 1\nrule r\n  command = $y\nbuild o: r\n  y = $x\nx = 2\n", graph) == "");
  CHECK(graph.binding(EdgeId{0}, "command") == "1");
}

TEST_CASE("escapes, continuations and comments are read as Ninja reads them") {
  Graph graph;
  REQUIRE(parse("# comment\n"
                "rule r\n"
                "  command = a$$b $\n"
                "      c  # kept\n"
                "build with$ space with$:colon: r in$ put\n",
                graph) == "");
  CHECK(graph.binding(EdgeId{0}, "command") == "a$b c  # kept");
  CHECK(graph.find_node("with space"));
  CHECK(graph.find_node("with:colon"));
  CHECK(graph.find_node("in put"));
}

TEST_CASE("paths are quoted for the shell and canonicalised") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = $in\nbuild o: r a/./b//c/../d it's$ x\n", graph) == "");
  CHECK(graph.binding(EdgeId{0}, "command") == "a/b/d 'it'\\''s x'");
}

TEST_CASE("implicit outputs, validations, pools and defaults are read") {
  Graph graph;
  REQUIRE(parse("pool p\n  depth = 2\n"
                "rule r\n  command = c\n  pool = p\n"
                "build a | b: r in |@ v\nbuild v: r\ndefault a\n",
                graph) == "");
  CHECK(graph.edge(EdgeId{0}).explicit_outputs().size() == 1);
  CHECK(graph.edge(EdgeId{0}).outputs.size() == 2);
  CHECK(graph.edge(EdgeId{0}).validations.size() == 1);
  CHECK(graph.find_pool("p")->depth == 2);
  CHECK(*graph.default_targets() == std::vector{*graph.find_node("a")});
}

TEST_CASE("include shares the scope and subninja has one of its own") {
  Graph graph;
  REQUIRE(parse("x = 1\ninclude inc\nsubninja sub\nrule r\n  command = $x\nbuild o: r\n", graph,
                {{"inc", "x = 2\n"}, {"sub", "x = 3\nrule s\n  command = $x\nbuild p: s\n"}}) ==
          "");
  CHECK(graph.binding(*graph.node(*graph.find_node("o")).made_by, "command") == "2");
  CHECK(graph.binding(*graph.node(*graph.find_node("p")).made_by, "command") == "3");
}

TEST_CASE("errors name file and line and point at the place") {
  CHECK(error_of("rule r\n  comand = x\n") ==
        "build.ninja:2: unexpected variable 'comand'\n  comand = x\n            ^ near here");
  CHECK(error_of("rule r\n  restat = 1\n") == "build.ninja:3: expected 'command =' line");
  CHECK(error_of("build a: nope b\n") ==
        "build.ninja:1: unknown build rule 'nope'\nbuild a: nope b\n         ^ near here");
  CHECK(error_of("rule cat\n  command = c\nbuild a: cta b\n") ==
        "build.ninja:3: unknown build rule 'cta'\nbuild a: cta b\n         ^ near here");
  CHECK(error_of("x = $\n").find("unexpected EOF") != std::string::npos);
  CHECK(
      error_of("x = a$?b\n") ==
      "build.ninja:1: bad $-escape (literal $ must be written as $$)\nx = a$?b\n     ^ near here");
  CHECK(error_of("rule r\n  command = c\nbuild a: r\nbuild a: r\n")
            .find("multiple rules generate a") != std::string::npos);
  CHECK(error_of("\tx = 1\n") ==
        "build.ninja:1: tabs are not allowed, use spaces\n\tx = 1\n^ near here");
  CHECK(error_of("include nope\n").find("loading 'nope': No such file or directory") !=
        std::string::npos);
}

TEST_CASE("a file that includes itself is refused") {
  Graph graph;
  CHECK(parse("include build.ninja\n", graph).find("too deep") != std::string::npos);
}

TEST_CASE("a cycle is described by its path") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = c\nbuild a: r b\nbuild b: r c\nbuild c: r a\n", graph) == "");
  std::vector<NodeId> targets = {*graph.find_node("a")};
  CHECK(graph.find_cycle(targets) == "a -> b -> c -> a");
}

TEST_CASE("variables of a rule that name each other are refused, unless an edge's stand in") {
  Graph graph;
  const std::string rule = "rule r\n  command = $description\n  description = $command\n";
  CHECK(error_of(rule + "build a: r\n") ==
        "cycle in rule variables: description -> command -> description");
  REQUIRE(parse(rule + "build a: r\n  description = d\n", graph) == "");
  CHECK(graph.binding(*graph.node(*graph.find_node("a")).made_by, "command") == "d");
}

TEST_CASE("values that double each other end with their place, not with the memory") {
  std::string text = "x = 0123456789\n";
  for (int i = 0; i < 40; ++i) text += "x = $x$x\n";
  CHECK(error_of(text) ==
        "build.ninja:24: value longer than 67108864 bytes\nx = $x$x\n        ^ near here");

  // Each value is below the limit, but their sum is above it.
  text = "x = 0123456789\n";
  for (int i = 0; i < 22; ++i) text += "x = $x$x\n";
  for (int i = 0; i < 30; ++i) text += "y = $x$\n  a\n";
  CHECK(error_of(text).find("values longer than 1073741824 bytes together") != std::string::npos);

  // A rule's values are evaluated only for its edges, so their pieces are limited beforehand.
  text = "rule r\n  command = c";
  for (int i = 0; i < 2000; ++i) text += " $description";
  text += "\n  description =";
  for (int i = 0; i < 2000; ++i) text += " $depfile";
  text += "\n  depfile = d\n";
  CHECK(error_of(text).find("variable 'command' of rule 'r' comes to more than 1048576 pieces") !=
        std::string::npos);

  Graph graph;
  graph.set_most_text(4);
  REQUIRE(parse("rule r\n  command = $x$x$x\nx = 123\nbuild a: r\n", graph) == "");
  const EdgeId edge = *graph.node(*graph.find_node("a")).made_by;
  CHECK(graph.binding(edge, "command") == "1231");
  CHECK(graph.check_length(edge, "command", graph.binding(edge, "command")).error().message ==
        "command of 'a': longer than 4 bytes");
}

TEST_CASE("what an edge needs is read from its own variables alone") {
  Graph graph;
  REQUIRE(parse("memory = 9 GiB\nretries = many\nrule r\n  command = c\nbuild a: r\n"
                "build b: r\n  memory = 1.5 GiB\n  device = a-kind-of-device-with-a-long-name 12\n"
                "  retries = 3\n  final_exit_codes = 2 64\n  timeout = 0.5\n  sandbox = 1\n"
                "build c: r\n  device = tpu\n  class = measured\n  device_kind = tpu7x\n"
                "  protocol = p1\n",
                graph) == "");
  auto of = [&](const char* output) {
    return graph.extensions(*graph.node(*graph.find_node(output)).made_by);
  };
  CHECK(of("a").needs.empty());
  CHECK(of("a").retries == 0);
  const Extensions b = of("b");
  CHECK(b.needs ==
        Resources{{"memory", 1.5 * (1 << 30)}, {"a-kind-of-device-with-a-long-name", 12}});
  CHECK(b.retries == 3);
  CHECK(b.final_exit_codes == std::set<int>{2, 64});
  CHECK(b.timeout_seconds == 0.5);
  CHECK(b.is_sandboxed);
  CHECK(of("c").needs == Resources{{"tpu", 1}});
  CHECK(of("c").step_class == StepClass::measured);
  CHECK(b.step_class == StepClass::pure);
  CHECK(error_of("rule r\n  command = c\nbuild a: r\n  class = sure\n")
            .find("class = sure: not pure, measured or recorded") != std::string::npos);
  CHECK(error_of("rule r\n  command = c\nbuild a: r\n  class = measured\n  protocol = p1\n")
            .find("class = measured: device_kind and protocol are missing") != std::string::npos);
  for (const char* codes : {"0", "256", "2,64", "two", "2 x"}) {
    CHECK(
        error_of(fmt::format("rule r\n  command = c\nbuild a: r\n  final_exit_codes = {}\n", codes))
            .find("not numbers from 1 to 255") != std::string::npos);
  }
  CHECK(error_of("rule r\n  command = c\nbuild a: r\n  device = tpu 1.5\n")
            .find("device = tpu 1.5: not a kind and a count") != std::string::npos);
}

TEST_CASE("an unknown target is answered with the nearest one") {
  Graph graph;
  REQUIRE(parse("rule r\n  command = c\nbuild round-1: r\n", graph) == "");
  std::vector<std::string> names = {"ruond-1"};
  auto targets = graph.targets(names);
  REQUIRE(!targets);
  CHECK(targets.error().message == "unknown target 'ruond-1', did you mean 'round-1'?");
}

TEST_CASE("a variable is a secret or in the key, not both") {
  CHECK(error_of("rule r\n  command = c\nbuild a: r\n  environment = A B\n  secrets = B\n")
            .find("secrets = B: is also in environment, which would put its value into the key") !=
        std::string::npos);
}
