// Tests of the parts of the ninja front end that need no process: status lines, long lines, dyndep
// files, and the inputs that compilers report.
#include "engine/core/path.h"
#include "engine/graph/depfile.h"
#include "engine/graph/dyndep.h"
#include "engine/graph/manifest.h"
#include "engine/ninja/line_printer.h"
#include "engine/ninja/options.h"
#include "engine/ninja/status_format.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ninja;

TEST_CASE("a long line loses its middle, and no color") {
  const std::string red = "\x1b[31m", plain = "\x1b[0m";
  CHECK(elide_middle("short", 5) == "short");
  CHECK(elide_middle("0123456789", 9) == "012...789");
  CHECK(elide_middle("0123456789", 3) == "...");
  CHECK(elide_middle("0123456789", 1) == ".");
  CHECK(elide_middle("0123456789", 0).empty());
  CHECK(elide_middle(red + "0123456789" + plain, 10) == red + "0123456789" + plain);
  CHECK(elide_middle(red + "0123456789" + plain, 9) == red + "012...789" + plain);
  // Color codes inside the gap stay, so that the rest of the line keeps its color.
  CHECK(elide_middle("01234" + red + "56" + plain + "789", 7) == "01..." + red + plain + "89");
}

TEST_CASE("escape sequences are removed from the output to a pipe") {
  CHECK(without_escapes("a\x1b[1;31mb\x1b[0mc\x1b[Kd") == "abcd");
  CHECK(without_escapes("end\x1b") == "end");
}

TEST_CASE("the status line's formats") {
  Counts counts;
  counts.started = 4;
  counts.finished = 2;
  counts.running = 2;
  counts.total = 8;
  counts.elapsed_seconds = 61;
  counts.command_seconds = 100;
  auto by_environment = [&](const char* text) {
    auto format = StatusFormat::parse(nullptr, text);
    return format ? format->line(counts, "DO") : format.error().message;
  };
  auto by_option = [&](const std::string& text) {
    auto format = StatusFormat::parse(&text, "ignored %f");
    return format ? format->line(counts, "DO") : format.error().message;
  };
  CHECK(by_environment(nullptr) == "[2/8] DO");
  CHECK(by_environment("%s %t %r %u %f %p %% %e %w %W ") ==
        "4 8 2 4 2  25% % 61.000 01:01 03:03 DO");
  CHECK(by_environment("%x") == "unknown placeholder '%x' in $NINJA_STATUS");
  CHECK(by_environment("%") == "unknown placeholder '%' in $NINJA_STATUS");
  CHECK(by_option("<$finished/${total}>") == "<2/8>");
  CHECK(by_option("$description [$elapsed]") == "DO [01:01]");
  CHECK(by_option("$nope") == "unknown variable 'nope' in --status format");
  counts.finished = 0;
  counts.command_seconds = 0;
  CHECK(by_environment("%W %o ") == "? ? DO");
}

TEST_CASE("Ninja's default for -j") {
  CHECK(default_jobs(1) == 2);
  CHECK(default_jobs(2) == 3);
  CHECK(default_jobs(16) == 18);
}

namespace {

// Loads a dyndep file for a manifest of three edges, of which two bind the file. Returns the error;
// empty: no error.
std::string dyndep_error(const std::string& text, Graph& graph) {
  const std::string manifest =
      "rule r\n  command = r\nbuild a: r in || dd\n  dyndep = dd\nbuild b: r in || dd\n"
      "  dyndep = dd\nbuild c: r in\n";
  auto load = [&](const std::string&) -> Result<std::string> { return manifest; };
  REQUIRE(parse_manifest("build.ninja", load, graph));
  auto outputs = load_dyndep(graph, *graph.find_node("dd"), text);
  return outputs ? "" : outputs.error().message;
}

std::string dyndep_error(const std::string& text) {
  Graph graph;
  return dyndep_error(text, graph);
}

const std::string kVersion = "ninja_dyndep_version = 1\n";

}  // namespace

TEST_CASE("a dyndep file adds inputs and outputs to the edges that bind it") {
  Graph graph;
  REQUIRE(dyndep_error(kVersion + "build a | a.mod: dyndep | x y\nbuild b: dyndep | a.mod\n"
                                  "  restat = 1\n",
                       graph)
              .empty());
  EdgeId a = *graph.node(*graph.find_node("a")).made_by;
  EdgeId b = *graph.node(*graph.find_node("b")).made_by;
  CHECK(graph.node(*graph.find_node("a.mod")).made_by == a);
  CHECK(graph.edge(a).inputs.size() == 4);
  CHECK(graph.edge(a).content_inputs().size() == 3);
  CHECK(graph.edge(a).explicit_inputs().size() == 1);
  CHECK(graph.binding(a, "out").empty() == false);
  CHECK(graph.edge(b).content_inputs().back() == *graph.find_node("a.mod"));
}

TEST_CASE("a dyndep file that is wrong is refused in Ninja's words") {
  CHECK(dyndep_error("") == "dd:1: expected 'ninja_dyndep_version = ...'");
  CHECK(dyndep_error("build a: dyndep\n") == "dd:1: expected 'ninja_dyndep_version = ...'");
  CHECK(dyndep_error("ninja_dyndep_version = 2\n") ==
        "dd:1: unsupported 'ninja_dyndep_version = 2'");
  CHECK(dyndep_error(kVersion + "build a: dyndep\n") ==
        "'b' not mentioned in its dyndep file 'dd'");
  CHECK(dyndep_error(kVersion + "build a: dyndep\nbuild b: dyndep\nbuild c: dyndep\n") ==
        "dyndep file 'dd' mentions output 'c' whose build statement does not have a dyndep binding "
        "for the file");
  CHECK(dyndep_error(kVersion + "build z: dyndep\n") == "dd:2: no build statement exists for 'z'");
  CHECK(dyndep_error(kVersion + "build a: dyndep\nbuild a: dyndep\n") ==
        "dd:3: multiple statements for 'a'");
  CHECK(dyndep_error(kVersion + "build a x: dyndep\n") == "dd:2: explicit outputs not supported");
  CHECK(dyndep_error(kVersion + "build a: dyndep x\n") == "dd:2: explicit inputs not supported");
  CHECK(dyndep_error(kVersion + "build a: dyndep || x\n") ==
        "dd:2: order-only inputs not supported");
  CHECK(dyndep_error(kVersion + "build a: touch\n") ==
        "dd:2: expected build command name 'dyndep'");
  CHECK(dyndep_error(kVersion + "build a | c: dyndep\nbuild b: dyndep\n") ==
        "multiple rules generate c");
}

TEST_CASE("the includes that MSVC shows are removed from its output") {
  auto shown = parse_show_includes(
      "foo.cc\r\nNote: including file:   b\\x.h\r\nNote: including file: a.h\r\n"
      "Note: including file: C:\\Program Files\\sys.h\r\nNote: including file: a.h\r\n"
      "foo.cc(1): warning\r\n",
      "");
  CHECK(shown.inputs == std::vector<std::string>{"a.h", "b\\x.h"});
  CHECK(shown.output == "foo.cc(1): warning\n");
  CHECK(parse_show_includes("Hinweis: a.h\n", "Hinweis: ").inputs ==
        std::vector<std::string>{"a.h"});
}

TEST_CASE("paths are canonicalised by Ninja's rules") {
  for (auto [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"a", "a"},
                                                        {"./a", "a"},
                                                        {"a/./b", "a/b"},
                                                        {"a//b/", "a/b"},
                                                        {"a/../b", "b"},
                                                        {"a/..", "."},
                                                        {"../a", "../a"},
                                                        {"a/../../b", "../b"},
                                                        {"../../a/../b", "../../b"},
                                                        {"..", ".."},
                                                        {"/", "/"},
                                                        {"//a", "/a"},
                                                        {"/..", "/.."},
                                                        {"/a/..", "/"},
                                                        {"a/.hidden", "a/.hidden"},
                                                        {"a/..b", "a/..b"}}) {
    INFO(from);
    CHECK(canonical_path(from) == to);
    if (is_canonical(from)) CHECK(from == to);
  }
}
