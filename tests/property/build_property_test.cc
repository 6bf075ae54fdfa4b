// Property tests of builds with random graphs and random changes: the result of a build must not
// depend on earlier builds.
#include <fmt/format.h>

#include <array>

#include "engine/search/space/random.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;

namespace {

constexpr int kSources = 4;

// Returns a manifest of `edges` cat edges, each with one to three earlier files as inputs; some
// edges are portable.
std::string random_manifest(search::Random& random, int edges) {
  std::string text = "rule cat\n  command = cat $out $in\n";
  std::vector<std::string> files;
  for (int i = 0; i < kSources; ++i) files.push_back(fmt::format("src{}", i));
  for (int i = 0; i < edges; ++i) {
    text += fmt::format("build out{}: cat", i);
    for (uint64_t inputs = 1 + random.below(3); inputs > 0; --inputs)
      text += " " + files[random.below(files.size())];
    text += random.below(2) == 0 ? "\n" : "\n  portable = 1\n";
    files.push_back(fmt::format("out{}", i));
  }
  return text;
}

void set_sources(World& world) {
  for (int i = 0; i < kSources; ++i) world.files.files[fmt::format("src{}", i)] = std::to_string(i);
}

std::map<std::string, std::string> outputs_of(const World& world) {
  std::map<std::string, std::string> out;
  for (const auto& [path, text] : world.files.files) {
    if (path.starts_with("out")) out[path] = text;
  }
  return out;
}

}  // namespace

TEST_CASE("an incremental build ends as a clean one, and runs no edge twice", "[property]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    search::Random random(seed, 1);
    std::string manifest = random_manifest(random, 1 + static_cast<int>(random.below(20)));
    World incremental;
    REQUIRE(incremental.load(manifest));
    incremental.options.jobs = 1 + static_cast<int>(random.below(4));
    for (int i = 0; i < kSources; ++i)
      incremental.files.files[fmt::format("src{}", i)] = std::to_string(i);
    for (int change = 0; change < 4; ++change) {
      incremental.files.files[fmt::format("src{}", random.below(kSources))] =
          std::to_string(random.below(3));
      if (random.below(4) == 0) incremental.files.files.erase("out0");
      if (random.below(6) == 0) incremental.blobs.blobs.clear();
      if (random.below(6) == 0) incremental.memo = {};
      auto summary = incremental.build();
      REQUIRE(summary);
      for (int i = 0; i < static_cast<int>(incremental.graph->edge_count()); ++i) {
        CHECK(incremental.files.files.contains(fmt::format("out{}", i)));
      }
      CHECK(static_cast<size_t>(summary->ran) == incremental.runner.started.size());
      std::set<std::string> distinct(incremental.runner.started.begin(),
                                     incremental.runner.started.end());
      CHECK(distinct.size() == incremental.runner.started.size());

      World clean;
      REQUIRE(clean.load(manifest));
      for (const auto& [path, text] : incremental.files.files) {
        if (path.starts_with("src")) clean.files.files[path] = text;
      }
      REQUIRE(clean.build());
      CHECK(outputs_of(clean) == outputs_of(incremental));
      CHECK(incremental.build()->ran == 0);
    }
  }
}

TEST_CASE("no edge starts before its inputs are there", "[property]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    search::Random random(seed, 2);
    World world;
    REQUIRE(world.load(random_manifest(random, 20)));
    world.options.jobs = 8;
    set_sources(world);
    size_t starts = 0, early = 0;
    world.runner.pick = [&](size_t count) { return random.below(count); };
    world.runner.at_start = [&](const std::vector<Command>& running) {
      const auto words = tests::words_of(running.back().line);
      for (size_t i = 2; i < words.size(); ++i)
        early += world.files.files.contains(words[i]) ? 0 : 1;
      ++starts;
    };
    REQUIRE(world.build());
    CHECK(starts > 0);
    CHECK(early == 0);
  }
}

TEST_CASE("only what a change can have an effect on runs again", "[property]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    search::Random random(seed, 3);
    World world;
    REQUIRE(world.load(random_manifest(random, 20)));
    world.options.jobs = 1 + static_cast<int>(random.below(4));
    set_sources(world);
    REQUIRE(world.build());
    std::set<std::string> affected = {fmt::format("src{}", random.below(kSources))};
    world.files.files[*affected.begin()] = "never seen before";
    // The manifest's order is one in which the edges can run.
    for (size_t i = 0; i < world.graph->edge_count(); ++i) {
      const Edge& edge = world.graph->edge(static_cast<EdgeId>(i));
      const bool is_affected =
          std::any_of(edge.inputs.begin(), edge.inputs.end(),
                      [&](NodeId input) { return affected.contains(world.graph->path(input)); });
      if (is_affected) affected.insert(world.graph->path(edge.outputs.front()));
    }
    REQUIRE(world.build());
    for (const std::string& line : world.runner.started) {
      CHECK(affected.contains(tests::words_of(line)[1]));
    }
  }
}

TEST_CASE("no pool, no resource and no -j is ever exceeded, and all are made use of",
          "[property]") {
  size_t most_in_pool = 0, most_memory = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    search::Random random(seed, 4);
    // pool0 holds one edge at a time, pool1 two, pool2 three; 3 stands for no pool.
    std::string text;
    for (int pool = 0; pool < 3; ++pool) {
      text += fmt::format(
          "pool pool{0}\n  depth = {1}\nrule in{0}\n  command = cat $out $in\n  pool = pool{0}\n",
          pool, pool + 1);
    }
    text += "rule in3\n  command = cat $out $in\n";
    std::map<std::string, size_t> pool_of, memory_of;
    for (int i = 0; i < 30; ++i) {
      const size_t pool = random.below(4);
      pool_of[fmt::format("out{}", i)] = pool;
      const size_t memory = random.below(5);
      memory_of[fmt::format("out{}", i)] = memory;
      // Each edge has a source of its own, so that no two edges are the same action.
      text += fmt::format("build out{}: in{} src{} own{}\n  memory = {}\n", i, pool,
                          random.below(kSources), i, memory);
    }
    World world;
    REQUIRE(world.load(text));
    set_sources(world);
    for (int i = 0; i < 30; ++i) world.files.files[fmt::format("own{}", i)] = std::to_string(i);
    const size_t jobs = 1 + random.below(8);
    world.options.jobs = static_cast<int>(jobs);
    const size_t capacity = 3 + random.below(20);
    world.options.capacity["memory"] = static_cast<double>(capacity);
    world.runner.pick = [&](size_t count) { return random.below(count); };
    world.runner.at_start = [&](const std::vector<Command>& running) {
      std::array<size_t, 4> in_pool = {};
      size_t memory = 0, users = 0;
      for (const Command& command : running) {
        const std::string output = tests::words_of(command.line)[1];
        ++in_pool.at(pool_of.at(output));
        memory += memory_of.at(output);
        users += memory_of.at(output) > 0 ? 1 : 0;
      }
      for (size_t pool = 0; pool < 3; ++pool) CHECK(in_pool.at(pool) <= pool + 1);
      most_in_pool = std::max(most_in_pool, in_pool[2]);
      // An edge that needs more memory than there is runs without other users of memory.
      CHECK((memory <= capacity || users == 1));
      most_memory = std::max(most_memory, memory);
      CHECK(running.size() <= jobs);
    };
    REQUIRE(world.build());
    CHECK(world.runner.started.size() == 30);
    if (jobs <= 2) CHECK(world.runner.most_at_once == jobs);
  }
  CHECK(most_in_pool == 3);
  CHECK(most_memory > 12);
}

TEST_CASE("the outcome is the same for every -j and every order of ends", "[property]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    search::Random drawing(seed, 5);
    const std::string manifest = "rule fail\n  command = fail $in\n" +
                                 random_manifest(drawing, 20) +
                                 "build broken: fail out3\nbuild behind: cat broken\n";
    std::set<std::map<std::string, std::string>> outcomes;
    for (int jobs : {1, 2, 7, 64}) {
      search::Random random(seed, 6 + static_cast<uint64_t>(jobs));
      World world;
      REQUIRE(world.load(manifest));
      world.runner.programs["fail"] = [](const auto&, tests::FakeFiles&) { return 3; };
      world.runner.pick = [&](size_t count) { return random.below(count); };
      world.options.jobs = jobs;
      world.options.keep_going = 0;
      set_sources(world);
      auto summary = world.build();
      REQUIRE(summary);
      CHECK(summary->failed == 1);
      CHECK(summary->exit_status == 3);
      auto outcome = outputs_of(world);
      outcome["ran"] = std::to_string(summary->ran);
      CHECK(!world.files.files.contains("behind"));
      outcomes.insert(std::move(outcome));
    }
    CHECK(outcomes.size() == 1);
  }
}
