// A stress test: ten thousand short commands, sixty-four at a time, with the real ports of
// engine/world. All commands end and leave nothing in this process, however the build ends. TSan
// watches the threads.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cache/blob_store.h"
#include "engine/build/build.h"
#include "engine/world/claims.h"
#include "engine/world/clock.h"
#include "engine/world/disk_files.h"
#include "engine/world/process/runner.h"
#include "tests/catch.h"
#include "tests/fakes.h"
#include "tests/test_folder.h"

using namespace evolve;

namespace {

namespace fs = std::filesystem;

size_t open_descriptors() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

// A manifest with each kind of command in turn; nine in ten are plain.
struct Stress {
  tests::TestFolder folder;
  std::string manifest =
      "rule touch\n  command = touch $out\nrule shell\n  command = echo text > $out\n"
      "rule fail\n  command = echo no; exit 3\n"
      "rule leave\n  command = sleep 1000 >/dev/null 2>&1 & touch $out\n"
      "rule hang\n  command = sleep 1000 & sleep 1000\nrule no\n  command = /no/such/program $in\n";
  int edges = 0, failing = 0;

  explicit Stress(int count) : edges(count) {
    for (int i = 0; i < count; ++i) {
      const char* rule = i % 10 != 9     ? "touch"
                         : i % 20 != 19  ? "shell"
                         : i % 100 == 19 ? "fail"
                         : i % 100 == 39 ? "leave"
                         : i % 400 == 59 ? "hang"
                         : i % 400 == 79 ? "no"
                                         : "shell";
      const bool fails = std::string_view("fail hang no").find(rule) != std::string_view::npos;
      failing += fails ? 1 : 0;
      manifest += fmt::format("build {}/{}/out{}: {}\n{}", folder.path(), i / 1000, i, rule,
                              std::string_view(rule) == "hang" ? "  timeout = 0.2\n" : "");
    }
  }

  // Builds with a memo whose call number `fault` fails; 0: no call.
  Result<BuildSummary> build(int fault) {
    Graph graph;
    auto parsed = parse_manifest(
        "build.ninja", [&](const std::string&) { return Result<std::string>(manifest); }, graph);
    if (!parsed) return std::move(parsed).error();
    auto guard = world::GuardProcess::start();
    if (!guard) return std::move(guard).error();
    world::DiskFiles files;
    world::SystemClock clock;
    cache::FolderBlobStore blobs(folder / "blobs", files, Sharing::bytes);
    tests::FakeMemo memo;
    tests::FaultPlan faults;
    faults.fail_at = fault;
    if (fault > 0) memo.faults = &faults;
    tests::FakeLedger ledger;
    world::FileClaims claims(folder / "claims");
    tests::QuietListener listener;
    Snapshot snapshot;
    Lookup lookup(graph, files, memo, ledger, snapshot, {});
    world::LocalRunner runner(*guard, clock);
    BuildOptions options;
    options.jobs = 64;
    options.keep_going = 0;
    options.command_environment = {{"PATH", "/usr/bin:/bin"}};
    return evolve::build(graph, *graph.default_targets(), lookup,
                         {files, blobs, memo, ledger, claims, runner, clock, listener}, options);
  }
};

}  // namespace

TEST_CASE("ten thousand commands at -j 64 leave nothing behind", "[fault]") {
  // The first build opens /dev/null once and keeps it open, so it comes before the count.
  REQUIRE(Stress(1).build(0));
  REQUIRE(!has_children());
  const size_t before = open_descriptors();
  Stress stress(10000);
  auto summary = stress.build(0);
  REQUIRE(summary);
  CHECK(summary->failed == stress.failing);
  CHECK(stress.failing > 100);
  CHECK(summary->ran == stress.edges - stress.failing);
  CHECK(open_descriptors() == before);
  CHECK(!has_children());
}

TEST_CASE("a build that breaks off leaves no process and no descriptor", "[fault]") {
  for (int fault : {70, 500, 1500}) {
    REQUIRE(!has_children());
    const size_t before = open_descriptors();
    Stress stress(2000);
    auto summary = stress.build(fault);
    REQUIRE(!summary);
    CHECK(summary.error().code == ErrorCode::external);
    CHECK(open_descriptors() == before);
    CHECK(!has_children());
  }
}
