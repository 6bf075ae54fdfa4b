// Fault tests of the ports: each call to the world fails in one build. However that build ends, the
// next build must have the same result as a build without a fault.
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;

namespace {

const char* const kManifest =
    "rule cat\n  command = cat $out $in\n"
    "rule inc\n  command = inc $out $in\n  depfile = $out.d\n"
    "build a: cat in\nbuild b: inc a\nbuild c/x: cat b\n  portable = 1\nbuild d/x: cat b\n  "
    "portable = 1\nbuild end: cat c/x "
    "d/x\n";

void prepare(World& world) {
  REQUIRE(world.load(kManifest));
  world.options.jobs = 2;
  world.files.files["in"] = "1";
  world.files.files["header"] = "h";
  world.runner.programs["inc"] = [](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = files.files[words[2]] + files.files["header"];
    files.files[words[1] + ".d"] = words[1] + ": header\n";
    return 0;
  };
}

}  // namespace

TEST_CASE("after any one failed call a rerun ends as if nothing had happened", "[fault]") {
  World whole;
  prepare(whole);
  REQUIRE(whole.build());
  int failed_builds = 0;
  for (int call = 1;; ++call) {
    World world;
    prepare(world);
    tests::FaultPlan plan;
    plan.fail_at = call;
    world.fail_at(&plan);
    auto first = world.build();
    if (plan.calls < call) break;  // the build made fewer calls
    // A fault of the world is an error of the build or of an edge. A build that succeeds must not
    // hide the fault.
    bool is_told = !first || first->failed > 0;
    CHECK(is_told);
    if (!first) CHECK(first.error().code == ErrorCode::external);
    ++failed_builds;
    world.fail_at(nullptr);
    CHECK(world.runner.stopped == !first);
    auto second = world.build();
    REQUIRE(second);
    CHECK(second->failed == 0);
    CHECK(world.files.files.at("end") == whole.files.files.at("end"));
    // An edge that the first build reported as done does not run again.
    for (const EdgeRecord& record : world.ledger.records) {
      int times = 0;
      for (const EdgeRecord& other : world.ledger.records) {
        if (other.output == record.output && other.outcome == Outcome::ran) ++times;
      }
      CHECK(times <= 1);
    }
  }
  CHECK(failed_builds > 20);
}

TEST_CASE("a process that is killed at any call leaves what the next one goes on from", "[fault]") {
  World whole;
  prepare(whole);
  REQUIRE(whole.build());
  int kills = 0;
  for (int call = 1;; ++call) {
    World world;
    prepare(world);
    tests::FaultPlan plan;
    plan.fail_at = call;
    plan.kills = true;
    world.fail_at(&plan);
    bool is_killed = false;
    try {
      (void)world.build();
    } catch (const tests::Killed&) {
      is_killed = true;
    }
    if (!is_killed) break;
    ++kills;
    const size_t reported = world.ledger.records.size();
    world.revive();
    auto second = world.build();
    REQUIRE(second);
    CHECK(second->failed == 0);
    CHECK(world.files.files.at("end") == whole.files.files.at("end"));
    // An edge that was recorded as done does not run again.
    for (size_t i = 0; i < reported; ++i) {
      for (size_t j = reported; j < world.ledger.records.size(); ++j) {
        const EdgeRecord& again = world.ledger.records[j];
        const bool ran_again =
            again.output == world.ledger.records[i].output && again.outcome == Outcome::ran;
        CHECK_FALSE(ran_again);
      }
    }
  }
  CHECK(kills > 80);
}
