// Tests of the plan: a manifest in, the order of its edges out.
#include "engine/build/plan.h"

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/manifest.h"

using namespace evolve;

namespace {

using Names = std::vector<std::string>;

struct Asked {
  Names targets = {};  // none: the default targets
  std::map<std::string, double> costs = {};
  Resources capacity = {};
};

// The graph of a manifest, in which a rule "r" is there already, and its plan. An edge goes by the
// name of its first output.
class Planned {
 public:
  explicit Planned(const std::string& manifest, const Asked& asked = {}) {
    const std::string text = "rule r\n  command = r\n" + manifest;
    REQUIRE(parse_manifest(
        "build.ninja", [&](const std::string&) { return Result<std::string>(text); }, graph));
    auto targets = graph.targets(asked.targets);
    REQUIRE(targets);
    Plan::Cost cost;
    if (!asked.costs.empty()) {
      cost = [this, costs = asked.costs](EdgeId id) {
        auto it = costs.find(name(id));
        return it == costs.end() ? std::nullopt : std::optional(it->second);
      };
    }
    made_.emplace(graph, *targets, cost, asked.capacity);
  }

  Graph graph;

  Plan& plan() { return *made_; }
  [[nodiscard]] EdgeId edge(const std::string& output) const {
    return graph.node(*graph.find_node(output)).made_by.value();
  }
  [[nodiscard]] std::string name(EdgeId id) const {
    return graph.path(graph.edge(id).outputs.front());
  }
  std::vector<NodeId> nodes(const Names& paths) {
    std::vector<NodeId> out;
    for (const std::string& path : paths) out.push_back(graph.node(path));
    return out;
  }
  EdgeState state(const std::string& output) { return plan().state(edge(output)); }

  Names ready() {
    Names out;
    for (EdgeId id : plan().all_ready()) out.push_back(name(id));
    return out;
  }
  // The edge that would be looked up next; empty: none.
  std::string next() {
    auto id = plan().next_ready();
    return id ? name(*id) : "";
  }
  void queue_all() {
    for (EdgeId id : plan().all_ready()) plan().queue(id);
  }
  // Starts the next edge of the queue, and returns its name; empty: none has room.
  std::string start(Plan::Where where = Plan::Where::anywhere) {
    auto id = plan().next_queued(where);
    if (!id) return "";
    plan().run(*id);
    return name(*id);
  }
  void finish(const std::string& output) { plan().finish(edge(output)); }
  void fail(const std::string& output) { plan().fail(edge(output)); }
  // Finishes one edge after another, each time the first one that is ready. Returns their names.
  Names order() {
    Names out;
    while (auto id = plan().next_ready()) {
      out.push_back(name(*id));
      plan().finish(*id);
    }
    return out;
  }

  // What the edge is told when it finds the files late: "waits", "goes on", or the error.
  std::string wait_for(const std::string& output, const Names& files) {
    auto waits = plan().wait_for(edge(output), nodes(files));
    if (!waits) return waits.error().message;
    return *waits ? "waits" : "goes on";
  }
  // Says that the edge makes these files, too. Returns the error; empty: none.
  std::string learn(const std::string& output, const Names& files) {
    const std::vector<NodeId> outputs = nodes(files);
    REQUIRE(graph.extend_edge(edge(output), outputs, {}));
    auto status = plan().learn_makers(outputs);
    return status ? "" : status.error().message;
  }

 private:
  std::optional<Plan> made_;
};

}  // namespace

TEST_CASE("an edge is ready when the last edge that makes an input of it is done") {
  Planned planned(
      "build out: r left right left\n"
      "build left: r base\n"
      "build right: r | base || also\n"
      "build base also: r in\n");
  CHECK(planned.ready() == Names{"base"});
  planned.finish("base");
  CHECK(planned.ready() == Names{"left", "right"});
  planned.finish("right");
  CHECK(planned.state("out") == EdgeState::wanted);
  planned.finish("left");
  CHECK(planned.ready() == Names{"out"});
  planned.finish("out");
  CHECK(planned.next().empty());
  CHECK(planned.plan().count(EdgeState::done) == 4);
}

TEST_CASE("without costs the edges come in the manifest's order, whatever the targets' order") {
  const std::string manifest = "build c: r\nbuild a: r\nbuild b: r\n";
  CHECK(Planned(manifest, {.targets = {"b", "a", "c", "b"}}).order() == Names{"c", "a", "b"});
  CHECK(Planned("build z: r b a\nbuild a: r\nbuild b: r\n").order() == Names{"a", "b", "z"});
}

TEST_CASE("nothing is planned but what the targets need") {
  Planned planned("build a: r in\nbuild b: r a\nbuild c: r a\nbuild all: phony b c\n",
                  {.targets = {"b", "in"}});
  CHECK(planned.state("c") == EdgeState::unwanted);
  CHECK(planned.plan().total() == 2);
  CHECK(planned.order() == Names{"a", "b"});
  CHECK(planned.state("c") == EdgeState::unwanted);
  CHECK(Planned("build a: r in\n", {.targets = {"in"}}).next().empty());
}

TEST_CASE("a phony edge takes its turn, and is not counted") {
  Planned planned("build a: r\nbuild all: phony a\nbuild b: r all\n");
  CHECK(planned.plan().total() == 2);
  CHECK(planned.order() == Names{"a", "all", "b"});
}

TEST_CASE("the edge with the longest way to the end comes first") {
  // Ways to the end, the edge's own cost included: a1 14, b1 12, c1 22.
  const std::string manifest =
      "build out: r a0 b0 c0\n"
      "build a0: r a1\nbuild a1: r\n"
      "build b0: r b1\nbuild b1: r\n"
      "build c0: r c1\nbuild c1: r\n";
  const std::map<std::string, double> costs = {{"out", 10}, {"a0", 3}, {"a1", 1}, {"b0", 1},
                                               {"b1", 1},   {"c0", 2}, {"c1", 10}};
  // b1 and c0 are equal, so that the manifest decides.
  CHECK(Planned(manifest, {.costs = costs}).order() ==
        Names{"c1", "a1", "a0", "b1", "c0", "b0", "out"});
}

TEST_CASE("of several ways to the end the longest one counts") {
  const std::string manifest =
      "build short: r x y\nbuild long: r more\nbuild more: r y\nbuild x: r\nbuild y: r\n";
  const std::map<std::string, double> costs = {
      {"short", 3}, {"long", 2}, {"more", 2}, {"x", 1.5}, {"y", 1}};
  CHECK(Planned(manifest, {.costs = costs}).next() == "y");
  // The long way does not count for a build that does not go it.
  CHECK(Planned(manifest, {.targets = {"short"}, .costs = costs}).next() == "x");
}

TEST_CASE("an edge of unknown cost counts as much as the others do on average") {
  const std::string manifest = "build a: r\nbuild b: r\nbuild c: r\nbuild d: r\n";
  CHECK(Planned(manifest, {.costs = {{"a", 2}, {"c", 10}}}).order() == Names{"c", "b", "d", "a"});
  // Where no cost is known, the longest chain comes first.
  CHECK(Planned("build a: r\nbuild b: r\nbuild c: r b\n", {.costs = {{"none", 1}}}).order() ==
        Names{"b", "a", "c"});
}

TEST_CASE("a phony edge costs nothing, and hands on what is behind it") {
  const std::string manifest = "build b: r\nbuild a: r\nbuild all: phony a\nbuild out: r all\n";
  auto first = [&](double b) {
    return Planned(manifest, {.costs = {{"a", 1}, {"b", b}, {"out", 5}, {"all", 100}}}).next();
  };
  CHECK(first(5.5) == "a");
  CHECK(first(6.5) == "b");
}

TEST_CASE("queued edges start by cost, and each stays queued until it runs") {
  Planned planned("build a: r\nbuild b: r\nbuild c: r\n",
                  {.costs = {{"a", 2}, {"b", 3}, {"c", 1}}});
  planned.plan().queue(planned.edge("c"));
  CHECK(planned.start() == "c");
  planned.queue_all();
  CHECK(planned.name(*planned.plan().next_queued()) == "b");
  CHECK(planned.start() == "b");
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
  CHECK(planned.plan().count(EdgeState::running) == 3);
}

TEST_CASE("an edge that is done while it is queued does not start") {
  Planned planned("build a: r\nbuild b: r\n");
  planned.queue_all();
  planned.finish("a");
  CHECK(planned.start() == "b");
  CHECK(planned.start().empty());
}

TEST_CASE("a pool runs as many edges as it is deep, and others pass it") {
  Planned planned(
      "pool two\n  depth = 2\n"
      "build a: r\n  pool = two\nbuild b: r\n  pool = two\nbuild c: r\n  pool = two\n"
      "build d: r\n  pool = two\nbuild e: r\n");
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "b");
  CHECK(planned.start() == "e");
  CHECK(planned.start().empty());
  planned.finish("b");
  CHECK(planned.start() == "c");
  CHECK(planned.start().empty());
  planned.fail("a");
  CHECK(planned.start() == "d");
}

TEST_CASE("the console serves one edge at a time, and a pool of depth 0 has no limit") {
  Planned planned(
      "pool wide\n  depth = 0\n"
      "build a: r\n  pool = console\nbuild b: r\n  pool = console\n"
      "build c: r\n  pool = wide\nbuild d: r\n  pool = wide\n");
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "c");
  CHECK(planned.start() == "d");
  CHECK(planned.start().empty());
}

TEST_CASE("edges run together as long as what they need fits into the capacity") {
  Planned planned(
      "build a: r\n  memory = 3\nbuild b: r\n  memory = 2\nbuild c: r\n  memory = 1\nbuild d: r\n",
      {.capacity = {{"memory", 4}}});
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "c");  // b would not fit
  CHECK(planned.start() == "d");
  CHECK(planned.start().empty());
  planned.finish("c");
  CHECK(planned.start().empty());
  planned.finish("a");
  CHECK(planned.start() == "b");
}

TEST_CASE("an edge that needs more than there is runs without another that needs any") {
  Planned planned(
      "build a: r\n  memory = 1\nbuild big: r\n  memory = 9\nbuild c: r\n  memory = 1\n"
      "build d: r\n",
      {.capacity = {{"memory", 4}}});
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "c");
  CHECK(planned.start() == "d");
  planned.finish("a");
  CHECK(planned.start().empty());
  planned.finish("c");
  CHECK(planned.start() == "big");

  Planned other("build big: r\n  memory = 9\nbuild b: r\n  memory = 1\nbuild c: r\n",
                {.capacity = {{"memory", 4}}});
  other.queue_all();
  CHECK(other.start() == "big");
  CHECK(other.start() == "c");
  CHECK(other.start().empty());
  other.fail("big");
  CHECK(other.start() == "b");
}

TEST_CASE("without a capacity memory is unlimited, and a kind of device serves one edge") {
  const std::string manifest =
      "build a: r\n  device = tpu\n  memory = 9 GiB\nbuild b: r\n  device = tpu\n"
      "build c: r\n  device = gpu\n  memory = 9 GiB\n";
  Planned planned(manifest);
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "c");
  CHECK(planned.start().empty());
  planned.finish("a");
  CHECK(planned.start() == "b");

  Planned with_two(manifest, {.capacity = {{"tpu", 2}}});
  with_two.queue_all();
  CHECK(with_two.start() == "a");
  CHECK(with_two.start() == "b");
}

TEST_CASE("an edge that needs two resources waits for both, and holds neither meanwhile") {
  Planned planned(
      "build a: r\n  device = tpu\nbuild both: r\n  device = tpu\n  memory = 3\n"
      "build c: r\n  memory = 3\n",
      {.capacity = {{"memory", 4}}});
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "c");
  planned.finish("a");
  CHECK(planned.start().empty());
  planned.finish("c");
  CHECK(planned.start() == "both");
}

TEST_CASE("an edge that fails skips what needs it, however far, and nothing else") {
  Planned planned(
      "build a: r\nbuild b: r\n"
      "build c: r a b\nbuild d: phony c\nbuild e: r || d\nbuild f: r b\nbuild all: phony e f\n");
  planned.fail("a");
  for (const char* output : {"c", "d", "e", "all"}) {
    CHECK(planned.state(output) == EdgeState::skipped);
  }
  // What is skipped stays so, although its other input is made.
  CHECK(planned.order() == Names{"b", "f"});
  CHECK(planned.plan().count(EdgeState::failed) == 1);
  CHECK(planned.plan().count(EdgeState::skipped) == 4);
  CHECK(planned.plan().count(EdgeState::done) == 2);
  CHECK(planned.plan().count(EdgeState::wanted) == 0);
  planned.fail("b");
  CHECK(planned.plan().count(EdgeState::skipped) == 4);
}

TEST_CASE("an edge that is tried again leaves its pool and its memory, and skips nobody") {
  Planned planned(
      "pool one\n  depth = 1\n"
      "build a: r\n  pool = one\n  memory = 3\nbuild b: r\n  pool = one\nbuild c: r\n  memory = 3\n"
      "build out: r a\n",
      {.capacity = {{"memory", 4}}});
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
  planned.plan().queue(planned.edge("a"));
  CHECK(planned.state("out") == EdgeState::wanted);
  CHECK(planned.start() == "a");  // its place in the manifest is still the first
  planned.plan().queue(planned.edge("a"));
  planned.plan().run(planned.edge("b"));
  CHECK(planned.start() == "c");
  planned.finish("b");
  planned.finish("c");
  CHECK(planned.start() == "a");
  planned.finish("a");
  CHECK(planned.ready() == Names{"out"});
}

TEST_CASE("an edge whose input changed while it ran is looked up again, and makes room") {
  Planned planned(
      "pool one\n  depth = 1\n"
      "build a: r\n  pool = one\nbuild b: r\n  pool = one\nbuild out: r a b\n");
  planned.queue_all();
  CHECK(planned.start() == "a");
  planned.plan().ready_again(planned.edge("a"));
  CHECK(planned.ready() == Names{"a"});
  CHECK(planned.start() == "b");
  planned.plan().queue(planned.edge("a"));
  CHECK(planned.start().empty());
  planned.finish("b");
  CHECK(planned.start() == "a");
  CHECK(planned.state("out") == EdgeState::wanted);
  planned.finish("a");
  CHECK(planned.ready() == Names{"out"});
}

TEST_CASE("an edge that finds a file late waits for the edge that makes it") {
  Planned planned("build a: r\nbuild b: r\nbuild out: r a\n", {.targets = {"out", "b"}});
  CHECK(planned.wait_for("a", {"b", "a source"}) == "waits");
  CHECK(planned.state("a") == EdgeState::wanted);
  CHECK(planned.ready() == Names{"b"});
  planned.finish("b");
  CHECK(planned.ready() == Names{"a"});
  CHECK(planned.wait_for("a", {"b", "a source"}) == "goes on");
  CHECK(planned.order() == Names{"a", "out"});
}

TEST_CASE("a late file adds to the plan what no target needed") {
  Planned planned("build a: r\nbuild x: r y\nbuild y: r |@ check\nbuild check: r\nbuild z: r\n",
                  {.targets = {"a"}});
  CHECK(planned.plan().total() == 1);
  CHECK(planned.wait_for("a", {"x"}) == "waits");
  CHECK(planned.plan().total() == 4);
  CHECK(planned.state("z") == EdgeState::unwanted);
  CHECK(planned.order() == Names{"y", "x", "a", "check"});
}

TEST_CASE("edges that are found late start by cost, too") {
  Planned planned("build a: r\nbuild x: r\nbuild y: r\nbuild y2: r y\n",
                  {.targets = {"a"}, .costs = {{"x", 3}, {"y", 2}, {"y2", 2}}});
  CHECK(planned.wait_for("a", {"x", "y2"}) == "waits");
  CHECK(planned.order() == Names{"y", "x", "y2", "a"});
}

TEST_CASE("late files of one edge are waited for once, those of several edges for all of them") {
  Planned planned("build a: r\nbuild x x2: r\nbuild y: r\n");
  CHECK(planned.wait_for("a", {"x", "x2", "y"}) == "waits");
  planned.finish("x");
  CHECK(planned.state("a") == EdgeState::wanted);
  planned.finish("y");
  CHECK(planned.ready() == Names{"a"});
}

TEST_CASE("an edge can find files late again, each time that it is looked up") {
  Planned planned("build a: r\nbuild x: r\nbuild y: r\nbuild z: r\n");
  CHECK(planned.wait_for("a", {"x"}) == "waits");
  planned.finish("x");
  CHECK(planned.wait_for("a", {"x", "y"}) == "waits");
  planned.finish("y");
  planned.plan().queue(planned.edge("a"));
  planned.plan().run(planned.edge("a"));
  planned.plan().ready_again(planned.edge("a"));
  CHECK(planned.wait_for("a", {"x", "y", "z"}) == "waits");
  CHECK(planned.order() == Names{"z", "a"});
}

TEST_CASE("an edge is skipped when the maker of a file that it found late fails") {
  Planned planned("build a: r\nbuild x: r x0\nbuild x0: r\nbuild out: r a\n");
  CHECK(planned.wait_for("a", {"x"}) == "waits");
  planned.fail("x0");
  CHECK(planned.state("a") == EdgeState::skipped);
  CHECK(planned.state("out") == EdgeState::skipped);
}

TEST_CASE("a late file whose edge needs the one that waits is told as a cycle") {
  const std::string manifest = "build a: r\nbuild b: r a\nbuild c c2: r b\n";
  CHECK(Planned(manifest).wait_for("a", {"c2"}) == "dependency cycle: c2 -> a -> c2");
  CHECK(Planned(manifest, {.targets = {"a"}}).wait_for("a", {"b"}) ==
        "dependency cycle: b -> a -> b");
  CHECK(Planned(manifest).wait_for("a", {"a"}) == "dependency cycle: a -> a");
  Planned planned(manifest);
  auto error = planned.plan().wait_for(planned.edge("a"), planned.nodes({"c"}));
  REQUIRE_FALSE(error);
  CHECK(error.error().code == ErrorCode::bad_input);
}

TEST_CASE("edges that wait for each other by late files alone are told as a cycle") {
  Planned planned("build a: r\nbuild b: r\nbuild b2: r b\nbuild c: r\n");
  CHECK(planned.wait_for("a", {"b2"}) == "waits");
  CHECK(planned.wait_for("b", {"c"}) == "waits");
  CHECK(planned.wait_for("c", {"a"}) == "dependency cycle: a -> c -> a");
}

TEST_CASE("what an edge validates with is no part of a cycle") {
  Planned planned("build a: r |@ check\nbuild check: r b\nbuild b: r\n");
  CHECK(planned.wait_for("b", {"a"}) == "waits");
  CHECK(planned.order() == Names{"a", "b", "check"});
}

TEST_CASE("an edge waits for the maker of its file once that maker is known") {
  Planned planned("build main.o: r lib.h\nbuild lib: r lib.in\n", {.targets = {"main.o"}});
  SECTION("it was ready") {
    CHECK(planned.ready() == Names{"main.o"});
  }
  SECTION("it was queued") {
    planned.queue_all();
  }
  CHECK(planned.learn("lib", {"lib.h"}).empty());
  CHECK(planned.state("main.o") == EdgeState::wanted);
  CHECK(planned.start().empty());
  CHECK(planned.plan().total() == 2);
  CHECK(planned.order() == Names{"lib", "main.o"});
}

TEST_CASE("an edge that has started does not wait for a maker that becomes known") {
  Planned planned("build main.o: r lib.h\nbuild lib: r\nbuild out: r main.o\n");
  planned.queue_all();
  CHECK(planned.start() == "main.o");
  CHECK(planned.learn("lib", {"lib.h"}).empty());
  CHECK(planned.state("main.o") == EdgeState::running);
  planned.finish("lib");
  CHECK(planned.state("main.o") == EdgeState::running);
  planned.finish("main.o");
  CHECK(planned.ready() == Names{"out"});
}

TEST_CASE("a maker that becomes known is not built for a file that no edge of the plan uses") {
  Planned planned("build main.o: r\nbuild other.o: r lib.h\nbuild lib: r\n",
                  {.targets = {"main.o"}});
  CHECK(planned.learn("lib", {"lib.h"}).empty());
  CHECK(planned.state("lib") == EdgeState::unwanted);
  CHECK(planned.ready() == Names{"main.o"});
}

TEST_CASE("nobody waits for a maker that is done when it becomes known") {
  Planned planned("build main.o: r lib.h\nbuild lib: r\n");
  planned.finish("lib");
  CHECK(planned.learn("lib", {"lib.h"}).empty());
  CHECK(planned.ready() == Names{"main.o"});
}

TEST_CASE("an edge waits once for a maker, however it learns of it") {
  std::string inputs = "lib.h lib.hh";
  SECTION("two files at once") {}
  SECTION("a declared input of the same maker") {
    inputs += " lib";
  }
  Planned planned("build main.o: r " + inputs + " other\nbuild lib: r\nbuild other: r\n");
  CHECK(planned.learn("lib", {"lib.h", "lib.hh"}).empty());
  planned.finish("lib");
  CHECK(planned.state("main.o") == EdgeState::wanted);
  planned.finish("other");
  CHECK(planned.ready() == Names{"main.o"});
}

TEST_CASE("an edge waits once for a maker that it learns of one file after another") {
  Planned planned("build main.o: r lib.h lib.hh\nbuild lib: r\n");
  SECTION("by two lists") {
    CHECK(planned.learn("lib", {"lib.h"}).empty());
  }
  SECTION("by a file that it found late") {
    CHECK(planned.wait_for("main.o", {"lib"}) == "waits");
  }
  CHECK(planned.learn("lib", {"lib.hh"}).empty());
  CHECK(planned.order() == Names{"lib", "main.o"});
}

TEST_CASE("a maker that becomes known and needs its file's user is told as a cycle") {
  Planned planned("build main.o: r lib.h\nbuild mid: r main.o\nbuild lib: r mid\n");
  CHECK(planned.learn("lib", {"lib.h"}) == "dependency cycle: lib -> main.o -> lib");
  Planned own("build lib: r lib.h\n");
  CHECK(own.learn("lib", {"lib.h"}) == "dependency cycle: lib -> lib");
}

TEST_CASE("an edge in a node pool takes a place there, and no memory here") {
  Planned planned(
      "build a: r\n  node_pool = tpu\n  memory = 4\nbuild b: r\n  memory = 4\n"
      "build c: r\n  node_pool = tpu\nbuild d: r\n",
      {.capacity = {{place_in("tpu"), 1}, {"memory", 4}}});
  CHECK(planned.plan().is_elsewhere(planned.edge("a")));
  CHECK_FALSE(planned.plan().is_elsewhere(planned.edge("b")));
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "b");
  CHECK(planned.start() == "d");
  CHECK(planned.start().empty());
  planned.finish("a");
  CHECK(planned.start() == "c");
}

TEST_CASE("while this machine is full only edges of node pools start, each in its own pool") {
  Planned planned(
      "pool one\n  depth = 1\n"
      "build a: r\nbuild b: r\n  node_pool = tpu\nbuild c: r\n  node_pool = tpu\n"
      "build d: r\n  node_pool = cpu\n  pool = one\nbuild e: r\n  node_pool = cpu\n  pool = one\n",
      {.capacity = {{place_in("tpu"), 1}, {place_in("cpu"), 2}}});
  planned.queue_all();
  CHECK(planned.start(Plan::Where::elsewhere) == "b");
  CHECK(planned.start(Plan::Where::elsewhere) == "d");
  CHECK(planned.start(Plan::Where::elsewhere).empty());  // Ninja's pools hold there, too
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
}

TEST_CASE("an edge whose node pool does not exist runs on this machine, with its needs") {
  Planned planned(
      "build a: r\n  node_pool = tpu\n  memory = 3\nbuild b: r\n  node_pool = tpu\n  memory = 3\n",
      {.capacity = {{place_in("cpu"), 9}, {"memory", 4}}});
  CHECK_FALSE(planned.plan().is_elsewhere(planned.edge("a")));
  planned.queue_all();
  CHECK(planned.start(Plan::Where::elsewhere).empty());
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
}

TEST_CASE("validations are built with the edge, its inputs' validations, too, and delay nobody") {
  Planned planned(
      "build check: r out\nbuild out: r mid |@ check\nbuild mid: r |@ slow\n"
      "build slow: r |@ further\nbuild further: r\nbuild other: r |@ further\n",
      {.targets = {"out"}});
  CHECK(planned.state("other") == EdgeState::unwanted);
  CHECK(planned.ready() == Names{"mid", "slow", "further"});
  planned.finish("mid");
  planned.finish("out");  // although slow is not done
  CHECK(planned.ready() == Names{"check", "slow", "further"});
}

TEST_CASE("a validation that fails skips nothing") {
  Planned planned("build out: r |@ check\nbuild check: r\nbuild top: r out\n");
  planned.fail("check");
  CHECK(planned.order() == Names{"out", "top"});
  CHECK(planned.plan().count(EdgeState::skipped) == 0);
}

TEST_CASE("fractions of a resource that edges have given back leave no rest") {
  Planned planned(
      "build a: r\n  memory = 0.1 GiB\nbuild b: r\n  memory = 0.2 GiB\n"
      "build big: r\n  memory = 64 GiB\nbuild fit: r\n  memory = 32 GiB\n",
      {.capacity = {{"memory", 32.0 * (1 << 30)}}});
  planned.queue_all();
  CHECK(planned.start() == "a");
  CHECK(planned.start() == "b");
  planned.finish("a");
  planned.finish("b");
  CHECK(planned.start() == "big");
  CHECK(planned.start().empty());
  planned.finish("big");
  CHECK(planned.start() == "fit");
}

TEST_CASE("a wait that would be a cycle leaves the plan as it was") {
  Planned planned("build x: r\nbuild a: r\nbuild c: r a\n");
  CHECK(planned.wait_for("a", {"x", "c"}) == "dependency cycle: c -> a -> c");
  CHECK(planned.ready() == Names{"x", "a"});
  SECTION("the edge can wait later") {
    CHECK(planned.wait_for("a", {"x"}) == "waits");
  }
  SECTION("another edge can wait for it") {
    CHECK(planned.wait_for("x", {"a"}) == "waits");
  }
}

TEST_CASE("an edge that turns out to need a failed edge's file is skipped, and what needs it") {
  Planned planned("build a: r\nbuild x: r\nbuild y: r x\nbuild z: r a\nbuild u: r h\n",
                  {.targets = {"z", "x", "u"}});
  planned.fail("x");
  SECTION("its own discovery") {
    CHECK(planned.wait_for("a", {"x"}) == "waits");
    CHECK(planned.state("a") == EdgeState::skipped);
    CHECK(planned.state("z") == EdgeState::skipped);
  }
  SECTION("through an edge that was not wanted before") {
    CHECK(planned.wait_for("a", {"y"}) == "waits");
    CHECK(planned.state("y") == EdgeState::skipped);
    CHECK(planned.state("a") == EdgeState::skipped);
  }
  SECTION("a file of which only now is known who makes it") {
    CHECK(planned.learn("x", {"h"}).empty());
    CHECK(planned.state("u") == EdgeState::skipped);
  }
}

TEST_CASE("edges that are wanted late are ready behind the others") {
  Planned planned("build a: r\nbuild b: r\nbuild c: r\n", {.targets = {"b", "c"}});
  CHECK(planned.wait_for("b", {"a"}) == "waits");
  CHECK(planned.ready() == Names{"c", "a"});
}
