// Tests of learning from a campaign's history: which learnings are accepted, which stay proposed,
// which count as the same, and how a person's entries count.
#include "engine/search/learning/learn.h"

#include <fmt/format.h>

#include "tests/catch.h"

using namespace evolve::search;
using evolve::TimeKind;
using evolve::VariantId;

namespace {

PastVariant variant(int number, VariantId parent, const std::string& note) {
  PastVariant out;
  out.id = VariantId(number);
  out.round = number == 0 ? 0 : 1;
  out.mutator = "sweep";
  if (number > 0) out.parents = {parent};
  out.note = note;
  return out;
}

PastVariant scored(int number, VariantId parent, const std::string& note, double score) {
  PastVariant out = variant(number, parent, note);
  out.score = score;
  return out;
}

PastVariant rejected(int number, const std::string& note, const std::string& step,
                     const std::string& kind, const std::string& reason) {
  PastVariant out = variant(number, "v0000", note);
  out.rejection = Rejection{step, "case", kind, reason, {}};
  return out;
}

LearnRule rule() {
  return {0.05, 1, "matmul", TimeKind::modelled, 0.03, true};
}

const PastVariant seed = scored(0, "v0000", "the seed", 1.0);

std::vector<std::string> evidence_of(const Learning& learning) {
  std::vector<std::string> out;
  for (const Evidence& one : learning.evidence) out.push_back(one.variant.text());
  return out;
}

}  // namespace

TEST_CASE("a gain that counts is a success, a smaller one a proposal, a tie nothing", "[learn]") {
  const Lessons lessons = learn({seed, scored(1, "v0000", "BLOCK_M 512 -> 1024", 1.2),
                                 scored(2, "v0000", "BLOCK_N 512 -> 1024", 1.04),
                                 scored(3, "v0000", "BLOCK_K 512 -> 256", 1.02),
                                 scored(4, "v0001", "BLOCK_K 512 -> 128", 1.21)},
                                {}, rule());
  REQUIRE(lessons.accepted.entries.size() == 1);
  const Learning& entry = lessons.accepted.entries[0];
  CHECK(entry.id == "S001");
  CHECK(entry.title == "BLOCK_M 512 -> 1024");
  CHECK(entry.field("Impact") == "1.200x the seed's speed (modelled)");
  CHECK(evidence_of(entry) == std::vector<std::string>{"v0001"});
  CHECK(entry.evidence[0].link == "../round-1/v0001/variant.json");
  REQUIRE(lessons.proposed.size() == 1);
  CHECK(lessons.proposed[0].handle == "v0002");
  CHECK(!lessons.proposed[0].is_by_model);
}

TEST_CASE("a child of a slow parent is not a gain if the seed is faster", "[learn]") {
  const Lessons lessons =
      learn({seed, scored(1, "v0000", "BLOCK_M 512 -> 8", 0.3), scored(2, "v0001", "unroll", 0.9),
             scored(3, "v0001", "in another order", 1.2)},
            {}, rule());
  REQUIRE(lessons.accepted.entries.size() == 1);
  CHECK(lessons.accepted.entries[0].title == "in another order");
  CHECK(lessons.accepted.entries[0].field("Impact") == "1.200x the seed's speed (modelled)");
}

TEST_CASE("a measured gain counts only beyond its interval", "[learn]") {
  PastVariant loose = scored(1, "v0000", "wide", 1.2);
  loose.half_width = 0.3;
  PastVariant sharp = scored(2, "v0000", "deep", 1.2);
  sharp.half_width = 0.01;
  LearnRule measured = rule();
  measured.time_kind = TimeKind::measured;
  measured.resolution = 0.01;
  const Lessons lessons = learn({seed, loose, sharp}, {}, measured);
  REQUIRE(lessons.accepted.entries.size() == 1);
  CHECK(lessons.accepted.entries[0].title == "deep");
  CHECK(lessons.accepted.entries[0].field("Impact").find("95 % interval 1.188 to 1.212") !=
        std::string::npos);
}

TEST_CASE("a rejection teaches once, whatever its numbers", "[learn]") {
  const Lessons lessons =
      learn({seed, rejected(1, "BLOCK_M 1", "compile", "vmem", "needs 70.5 MiB of 64"),
             rejected(2, "BLOCK_M 2", "compile", "vmem", "needs 91 MiB of 64"),
             rejected(3, "BLOCK_M 3", "check", "incorrect", "max error 3"),
             rejected(4, "", "adopt", "no-code", "no fenced block")},
            {}, rule());
  REQUIRE(lessons.accepted.entries.size() == 2);
  CHECK(lessons.accepted.entries[0].id == "F001");
  CHECK(lessons.accepted.entries[0].field("Symptom") == "compile: vmem: needs 70.5 MiB of 64");
  CHECK(evidence_of(lessons.accepted.entries[0]) == std::vector<std::string>{"v0001", "v0002"});
  CHECK(lessons.accepted.entries[1].id == "F002");
}

TEST_CASE("a model's learning is proposed with the variant's result, and accepted with a gain",
          "[learn]") {
  PastVariant fast = scored(1, "v0000", "rewrite by m: wide", 1.5);
  fast.exchange = ExchangeSummary{"m", "rewrite", 0, 0, {"Wide blocks save steps."}};
  PastVariant slow = scored(2, "v0000", "rewrite by m: deep", 0.5);
  slow.exchange =
      ExchangeSummary{"m", "rewrite", 0, 0, {"Deep blocks help", "wide blocks save `steps`"}};
  const Lessons lessons = learn({seed, fast, slow}, {}, rule());
  REQUIRE(lessons.accepted.entries.size() == 1);
  CHECK(lessons.accepted.entries[0].title == "Wide blocks save steps.");
  CHECK(lessons.accepted.entries[0].field("Optimization") == "wide");
  CHECK(lessons.accepted.entries[0].field("But") == "v0002 (0.500x the seed's speed)");
  REQUIRE(lessons.proposed.size() == 1);
  CHECK(lessons.proposed[0].handle == "v0002.1");
  CHECK(lessons.proposed[0].is_by_model);
  CHECK(lessons.proposed[0].outcome == "v0002: 0.500x the seed's speed");
}

TEST_CASE("a person has the last word, in words and numbers of their own", "[learn]") {
  const Learnings mine = parse_learnings(
      "# Mine\n\n## Failure Patterns\n\n### FP7: No VMEM\n- **Symptom**: compile: vmem: needs 1 "
      "MiB of "
      "64\n\n## Successful Optimizations\n\n### SO3: Later\n- **Since**: round 2, matmul\n\n"
      "## Rejected\n\n### [S001] BLOCK_M 512 -> 1024\n");
  REQUIRE(mine.entries.size() == 3);
  const History history = {seed, rejected(1, "BLOCK_M 1", "compile", "vmem", "needs 70 MiB of 64"),
                           scored(2, "v0000", "BLOCK_M 512 -> 1024", 1.2),
                           scored(3, "v0000", "BLOCK_N 512 -> 1024", 1.3)};
  const Lessons lessons = learn(history, mine, rule());
  REQUIRE(lessons.accepted.entries.size() == 3);
  CHECK(lessons.accepted.entries[0].id == "FP7");
  CHECK(evidence_of(lessons.accepted.entries[0]) == std::vector<std::string>{"v0001"});
  CHECK(lessons.accepted.entries[1].is_rejected);
  CHECK(lessons.accepted.entries[1].evidence.empty());
  CHECK(lessons.accepted.entries[2].id == "S002");
  CHECK(lessons.proposed.empty());

  // An entry that a person wrote after a round does not hold in earlier rounds.
  CHECK(learnings_in_round(mine, 1, "matmul").entries.size() == 2);
  CHECK(learnings_in_round(mine, 2, "matmul").entries.size() == 3);
  CHECK(learnings_in_round(mine, 1, "softmax").entries.size() == 3);
}

TEST_CASE("a variant that no step has judged teaches nothing", "[learn]") {
  const Lessons lessons =
      learn({seed, rejected(1, "an answer", "adopt", "no-code", "there is no code"),
             rejected(2, "nearly v0001", "novelty", "near-duplicate", "0.01 from v0001"),
             rejected(3, "BLOCK_M 512 -> 1024", "check", "incorrect", "off by 3")},
            {}, rule());
  REQUIRE(lessons.accepted.entries.size() == 1);
  CHECK(lessons.accepted.entries[0].field("Symptom") == "check: incorrect: off by 3");
}
