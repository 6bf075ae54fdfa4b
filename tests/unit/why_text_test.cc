// Tests of the explanation of a build in words and as JSON.
#include "engine/report/why_text.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace evolve {

namespace {

PendingEdge pending_of(const std::string& subject, std::vector<std::string> reasons) {
  return {.output = subject + "/lower.json",
          .step = "lower",
          .subject = subject,
          .reasons = std::move(reasons)};
}

ResultOrigin origin_of_build(int64_t id) {
  ResultOrigin out;
  out.build = {.id = id, .campaign = "matmul", .targets = "round-1"};
  out.built_at = "2026-11-02T10:00:00Z";
  out.seconds = 2;
  out.paid_by = "v0001/lower.json";
  return out;
}

}  // namespace

TEST_CASE("edges of a step with the same reasons share one entry") {
  const std::vector<PendingEdge> edges = {pending_of("v0001", {"input 'a' is new"}),
                                          pending_of("v0002", {"input 'a' is new"}),
                                          pending_of("v0003", {"never built"})};
  CHECK(pending_text(edges) ==
        "will run lower v0001 and 1 more\n      input 'a' is new\n"
        "will run lower v0003\n      never built\n");
}

TEST_CASE("of many reasons of an edge the first four are shown") {
  CHECK(pending_text({pending_of("v0001", {"a", "b", "c", "d", "e", "f"})}) ==
        "will run lower v0001\n      a\n      b\n      c\n      d\n      and 2 more\n");
}

TEST_CASE("an edge without a past names the most similar result") {
  PendingEdge edge = pending_of("v0001", {"never built"});
  edge.nearest = {.output = "v0000/lower.json", .changes = {}};
  CHECK(pending_text({edge}) ==
        "will run lower v0001\n      never built\n"
        "      most similar: v0000/lower.json, under another name\n");
  edge.nearest->changes = {"input 'a': 1 -> 2"};
  CHECK(pending_text({edge}) ==
        "will run lower v0001\n      never built\n"
        "      most similar: v0000/lower.json\n      input 'a': 1 -> 2\n");
  CHECK(pending_json({edge}).at(0).at("nearest").at("output") == "v0000/lower.json");
}

TEST_CASE("a build says what it restores, and what may run") {
  PendingEdge restored = pending_of("v0001", {});
  restored.need = Pending::Need::restore;
  PendingEdge possible = pending_of("v0002", {});
  possible.need = Pending::Need::maybe;
  CHECK(pending_text({restored, possible}) ==
        "will restore lower v0001\n      stored: here\n"
        "may run: 1 edge that depends on those, if its inputs change\n");
  CHECK(pending_json({restored}).at(0).at("origin").is_null());
  restored.origin = origin_of_build(7);
  CHECK(pending_text({restored}) ==
        "will restore lower v0001\n"
        "      stored: build 7 (round-1), 2026-11-02T10:00:00Z, 2.0 s\n");
  CHECK(pending_json({restored}).at(0).at("origin").at("build") == 7);
}

TEST_CASE("details of past builds are shown if nothing is to run") {
  Explanation explanation;
  explanation.stored = {{.step = "lower", .count = 3, .origin = origin_of_build(7)}};
  explanation.last_build =
      LastBuild{.id = 8, .started = "2026-11-02T11:00:00Z", .targets = "round-1", .outcome = "ok"};
  explanation.last_build->edges = {
      {.output = "v0001/lower.json", .step = "lower", .subject = "v0001", .reasons = {"new"}}};
  CHECK(explanation_text(explanation) ==
        "nothing to do\nstored, with the build that first ran them:\n"
        "  lower  3  build 7 (round-1), 2026-11-02T10:00:00Z, 2.0 s\n"
        "last build: 8, 2026-11-02T11:00:00Z, ok: 1 edge ran\n"
        "  ran lower v0001\n      new\n");
  explanation.pending = {pending_of("v0009", {"never built"})};
  CHECK(explanation_text(explanation) ==
        "will run lower v0009\n      never built\nup to date: 3 edges\n"
        "last build: 8, 2026-11-02T11:00:00Z, ok: 1 edge ran\n");
  CHECK_FALSE(explanation_json(explanation).at("stored").at(0).contains("paid_by"));
}

}  // namespace evolve
