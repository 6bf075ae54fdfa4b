// Tests of the timeline of a build: job slots, and the chain of commands that the build waited for.
#include "engine/build/trace.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;

namespace {

struct Silent : Listener {
  void planned(const Graph&, const BuildPlan&) override {}
  void started(const EdgeEvent&) override {}
  void finished(const EdgeEvent&, const BuildPlan&) override {}
  void fault(const Error&) override {}
  void tick(const BuildPlan&) override {}
};

// base ──► left ──► (phony) all ──► top      base takes 1 s, left 2 s, right 1 s, top 3 s;
//     └──► right ─────────┘                  right ends before left, so nothing waits for it
const char* const kDiamond =
    "rule cc\n  command = cc\n"
    "build base: cc\nbuild left: cc base\nbuild right: cc base\n"
    "build all: phony left right\nbuild top: cc all\n";

}  // namespace

TEST_CASE("a trace names the chain of commands that the build waited for") {
  tests::World world;
  REQUIRE(world.load(kDiamond));
  tests::FakeClock clock;
  clock.now = 100;
  Silent silent;
  Trace trace(silent, clock);
  const Graph& graph = *world.graph;
  const BuildPlan plan(graph, std::vector<NodeId>{*graph.find_node("top")});
  CHECK(trace.summary() == "nothing ran");
  trace.planned(graph, plan);
  auto event = [&](const char* output, Outcome outcome = Outcome::ran) {
    EdgeEvent out;
    out.edge = *graph.node(*graph.find_node(output)).made_by;
    out.step = "cc";
    out.subject = output;
    out.outcome = outcome;
    return out;
  };
  trace.started(event("base"));
  clock.now = 101;
  trace.finished(event("base"), plan);
  trace.started(event("left"));
  trace.started(event("right"));
  clock.now = 102;
  trace.finished(event("right"), plan);
  clock.now = 103;
  trace.finished(event("left"), plan);
  trace.finished(event("all", Outcome::hit), plan);
  trace.started(event("top"));
  clock.now = 106;
  trace.finished(event("top", Outcome::failed), plan);

  CHECK(trace.summary() ==
        "4 commands ran; the critical path is 6.0 s in 3 of them, the longest cc top (3.0 s)");
  const auto json = nlohmann::json::parse(trace.json());
  CHECK(json["otherData"]["critical_path"] ==
        nlohmann::json::array({"cc base", "cc left", "cc top"}));
  CHECK(json["otherData"]["critical_seconds"] == 6.0);
  const auto& events = json["traceEvents"];
  REQUIRE(events.size() == 4);
  CHECK(events[2]["name"] == "cc right");
  CHECK(events[2]["ts"] == 1'000'000);
  CHECK(events[2]["dur"] == 1'000'000);
  CHECK(events[2]["tid"] == 2);
  CHECK(events[2]["args"]["critical"] == false);
  CHECK(events[3]["tid"] == 1);
  CHECK(events[3]["args"]["failed"] == true);
}
