// Tests of the plan: the order of a manifest's edges.
#include "engine/build/plan.h"

#include "tests/catch.h"
#include "tests/planned.h"

using namespace evolve;

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
  // The ways to the end have these lengths, with the edge's own cost: a1 14, b1 12, c1 22.
  const std::string manifest =
      "build out: r a0 b0 c0\n"
      "build a0: r a1\nbuild a1: r\n"
      "build b0: r b1\nbuild b1: r\n"
      "build c0: r c1\nbuild c1: r\n";
  const std::map<std::string, double> costs = {{"out", 10}, {"a0", 3}, {"a1", 1}, {"b0", 1},
                                               {"b1", 1},   {"c0", 2}, {"c1", 10}};
  // The ways of b1 and c0 are equally long, so the order in the manifest decides.
  CHECK(Planned(manifest, {.costs = costs}).order() ==
        Names{"c1", "a1", "a0", "b1", "c0", "b0", "out"});
}

TEST_CASE("of several ways to the end the longest one counts") {
  const std::string manifest =
      "build short: r x y\nbuild long: r more\nbuild more: r y\nbuild x: r\nbuild y: r\n";
  const std::map<std::string, double> costs = {
      {"short", 3}, {"long", 2}, {"more", 2}, {"x", 1.5}, {"y", 1}};
  CHECK(Planned(manifest, {.costs = costs}).next() == "y");
  // The long way does not count for a build that does not include it.
  CHECK(Planned(manifest, {.targets = {"short"}, .costs = costs}).next() == "x");
}

TEST_CASE("an edge of unknown cost counts as much as the others do on average") {
  const std::string manifest = "build a: r\nbuild b: r\nbuild c: r\nbuild d: r\n";
  CHECK(Planned(manifest, {.costs = {{"a", 2}, {"c", 10}}}).order() == Names{"c", "b", "d", "a"});
  // If no cost is known, the longest chain comes first.
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
  // A skipped edge stays skipped, although its other input is made.
  CHECK(planned.order() == Names{"b", "f"});
  CHECK(planned.plan().count(EdgeState::failed) == 1);
  CHECK(planned.plan().count(EdgeState::skipped) == 4);
  CHECK(planned.plan().count(EdgeState::done) == 2);
  CHECK(planned.plan().count(EdgeState::wanted) == 0);
  planned.fail("b");
  CHECK(planned.plan().count(EdgeState::skipped) == 4);
}

TEST_CASE("an edge that is tried again leaves its pool and its memory, and skips no edge") {
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
  CHECK(planned.start() == "a");  // `a` is still the first in the manifest
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
  CHECK(planned.start(BuildPlan::Where::elsewhere) == "b");
  CHECK(planned.start(BuildPlan::Where::elsewhere) == "d");
  CHECK(planned.start(BuildPlan::Where::elsewhere).empty());  // Ninja's pools limit these, too
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
}

TEST_CASE("an edge whose node pool does not exist runs on this machine, with its needs") {
  Planned planned(
      "build a: r\n  node_pool = tpu\n  memory = 3\nbuild b: r\n  node_pool = tpu\n  memory = 3\n",
      {.capacity = {{place_in("cpu"), 9}, {"memory", 4}}});
  CHECK_FALSE(planned.plan().is_elsewhere(planned.edge("a")));
  planned.queue_all();
  CHECK(planned.start(BuildPlan::Where::elsewhere).empty());
  CHECK(planned.start() == "a");
  CHECK(planned.start().empty());
}

TEST_CASE("validations are built with the edge, its inputs' validations, too, and delay no edge") {
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
