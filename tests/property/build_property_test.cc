// Random graphs and random changes: what a build does must not depend on the way it came there.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "engine/search/random.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;

namespace {

constexpr int kSources = 4;

// A manifest of `edges` cat edges, each of one to three earlier files; some portable.
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
    for (int i = 0; i < kSources; ++i)
      world.files.files[fmt::format("src{}", i)] = std::to_string(i);
    bool was_early = false;
    world.runner.programs["cat"] = [&](const std::vector<std::string>& words,
                                       tests::FakeFiles& files) {
      std::string text;
      for (size_t i = 2; i < words.size(); ++i) {
        was_early = was_early || !files.files.contains(words[i]);
        text += files.files[words[i]];
      }
      files.files[words[1]] = text;
      return 0;
    };
    REQUIRE(world.build());
    CHECK(!was_early);
  }
}
