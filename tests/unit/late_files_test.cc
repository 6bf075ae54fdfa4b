// Tests of the plan: edges that find out only during the build which file they need, or which edge
// makes it.
#include "tests/catch.h"
#include "tests/planned.h"

using namespace evolve;

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

TEST_CASE("an edge's validations are not part of a cycle") {
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

TEST_CASE("no edge waits for a maker that is done when it becomes known") {
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
