#include "engine/search/learning/learnings.h"

#include <fmt/format.h>

#include "engine/search/space/random.h"
#include "tests/catch.h"

using namespace evolve::search;

namespace {

// A file with all spellings of an entry, a field and a section.
constexpr const char* kSpellings = R"(# What we know

Read this first.

## Failure Patterns

### FP1: Tiles of 256 are wrong
- **What**: the tile of the scales is 128
- **Rule**: never change it

### [FP7] Wide rows do not fit
* **Symptom:** out of VMEM
  in both directions

    a second paragraph
**Root cause**: rows are padded
- **Fix**: narrow ones

A paragraph of its own.
- an item
- another one

## Successful Optimizations

### SO3: Quantise late (1.58x speedup)
- **Impact**:
  - forward: 1.2x
  - backward: 1.3x
- **Root causes** (two issues):
  1. one
  2. two

### SO11-gmm: Taller tiles
- **Evidence**: all runs agree
- **Updated**: once
- **Updated**: twice

### [FP22] Slices cannot move
### [FP12-gmm] Narrow sums
### [FP16b-gmm] Spills
### [FP22-gmm] Deep tiles

#### [F001] The documented form
- **First seen**: yesterday
- **Evidence**: v0007, [v0012](../round-2/v0012/variant.json)

##### Why

```
### [F002] this is code

```
### [S001] Larger blocks
### Without an id
- **Optimization**: something

## Notes

Nothing of an entry.

## Rejected

### [S002] Smaller blocks
)";

std::vector<std::string> ids(const Learnings& learnings) {
  std::vector<std::string> out;
  for (const Learning& one : learnings.entries) out.push_back(one.id);
  return out;
}

const Learning& find(const Learnings& learnings, const std::string& id) {
  for (const Learning& one : learnings.entries) {
    if (one.id == id) return one;
  }
  FAIL("no such entry: " << id);
  return learnings.entries.front();
}

// Returns a random text of pieces of headings, fields, lists, code, and other pieces.
std::string drawn_text(uint64_t seed) {
  static const std::vector<std::string> kPieces = {"\n",
                                                   "\n",
                                                   "\n",
                                                   "\n\n",
                                                   "# ",
                                                   "## ",
                                                   "### ",
                                                   "#### ",
                                                   "[F001] ",
                                                   "FP1:",
                                                   "[SO2-gmm]",
                                                   "S003: ",
                                                   "F4 ",
                                                   "Failures",
                                                   "Rejected",
                                                   "Successes",
                                                   "- ",
                                                   "* ",
                                                   "  ",
                                                   "\t",
                                                   "**",
                                                   "**Fix**: ",
                                                   "**Note:** ",
                                                   "**Why**",
                                                   "**W** (x): ",
                                                   ":",
                                                   "Evidence",
                                                   "- **Evidence**: v0001, [v0002](../a)",
                                                   "- **Evidence**: ",
                                                   "v0003",
                                                   ", ",
                                                   "[v0004](b)",
                                                   "word ",
                                                   "```",
                                                   "~~~~",
                                                   "#",
                                                   " #",
                                                   "– ",
                                                   "1. ",
                                                   "\r\n",
                                                   "*",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   ")"};
  Random random(seed, 0);
  std::string out;
  const size_t count = random.below(40);
  for (size_t i = 0; i < count; ++i) out += kPieces[random.below(kPieces.size())];
  return out;
}

}  // namespace

TEST_CASE("learnings are read in every spelling, and nothing is lost") {
  const Learnings read = parse_learnings(kSpellings);
  CHECK(read.title == "What we know");
  CHECK(read.introduction == "Read this first.\n\n## Notes\n\nNothing of an entry.");
  CHECK(ids(read) == std::vector<std::string>{"FP1", "FP7", "FP22", "FP12-gmm", "FP16b-gmm",
                                              "FP22-gmm", "F001", "SO3", "SO11-gmm", "S001", "",
                                              "S002"});
  CHECK(find(read, "FP1").title == "Tiles of 256 are wrong");
  CHECK(find(read, "FP1").field("Rule") == "never change it");
  const Learning& wide = find(read, "FP7");
  CHECK(wide.field("Symptom") == "out of VMEM\n  in both directions\n\n    a second paragraph");
  CHECK(wide.field("Root cause") == "rows are padded");
  CHECK(wide.fields[3] == LearningField{"", "A paragraph of its own.\n- an item\n- another one"});
  CHECK(find(read, "SO3").field("Impact") == "\n  - forward: 1.2x\n  - backward: 1.3x");
  CHECK(find(read, "SO3").field("Root causes") == "(two issues):\n  1. one\n  2. two");
  CHECK(find(read, "SO11-gmm").field("Evidence") == "all runs agree");
  CHECK(find(read, "SO11-gmm").fields.back() == LearningField{"Updated", "twice"});
  const Learning& documented = find(read, "F001");
  CHECK(documented.evidence ==
        std::vector<Evidence>{{"v0007", ""}, {"v0012", "../round-2/v0012/variant.json"}});
  CHECK(documented.fields[1] == LearningField{"", "##### Why"});
  CHECK(documented.fields[2] == LearningField{"", "```\n### [F002] this is code\n\n```"});
  CHECK(find(read, "").title == "Without an id");
  CHECK(find(read, "").kind == LearningKind::success);
  CHECK(find(read, "S002").is_rejected);
  CHECK(!find(read, "S001").is_rejected);
  CHECK(parse_learnings(write_learnings(read)) == read);
}

TEST_CASE("learnings are written in the documented form") {
  Learnings learnings;
  learnings.entries = {
      {"F001", LearningKind::failure, "Too wide", {{"Symptom", "out of VMEM"}}, {{"v0002", ""}}},
      {"S001", LearningKind::success, "Wide", {}, {{"v0001", "../a"}}}};
  CHECK(write_learnings(learnings) ==
        "# Learnings\n\n"
        "## Failure Patterns\n\n### [F001] Too wide\n- **Symptom**: out of VMEM\n- **Evidence**: "
        "v0002\n\n"
        "## Successful Optimizations\n\n### [S001] Wide\n- **Evidence**: [v0001](../a)\n");
  CHECK(write_learnings({}) == "# Learnings\n");
}

TEST_CASE("the learnings of any text are the same after they are written and read again") {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    const std::string text = drawn_text(seed);
    const Learnings read = parse_learnings(text);
    const std::string written = write_learnings(read);
    if (parse_learnings(written) == read) continue;
    INFO(text);
    INFO("written: " << written);
    INFO("again: " << write_learnings(parse_learnings(written)));
    FAIL("seed " << seed);
  }
}

TEST_CASE("an entry goes to the end of its section, and all else stays as it is") {
  const Learning failure = {"F009", LearningKind::failure, "New", {{"Fix", "none"}}};
  const std::string text =
      "intro  \n## Failure Patterns\n\n### FP1: Old\n* **Fix:** some\n\n\n## Notes\nx";
  const std::string with = with_learning(text, failure);
  CHECK(with ==
        "intro  \n## Failure Patterns\n\n### FP1: Old\n* **Fix:** some\n"
        "\n### [F009] New\n- **Fix**: none\n\n\n## Notes\nx");
  Learning rejected = {"S001", LearningKind::success, "No"};
  rejected.is_rejected = true;
  CHECK(with_learning(text, rejected) == text + "\n\n## Rejected\n\n### [S001] No\n");
  CHECK(with_learning("", failure) ==
        "# Learnings\n\n## Failure Patterns\n\n### [F009] New\n- **Fix**: none\n");
  CHECK(ids(parse_learnings(with_learning(with, rejected))) ==
        std::vector<std::string>{"FP1", "F009", "S001"});
}

TEST_CASE("a new id has a number that no other id of its kind has, in any spelling") {
  const Learnings read =
      parse_learnings("### [FP2-gmm] a\n### F001: b\n### SO1: c\n### [S003] d\n");
  CHECK(free_id(read.entries, LearningKind::failure) == "F003");
  CHECK(free_id(read.entries, LearningKind::success) == "S002");
  CHECK(free_id({}, LearningKind::success) == "S001");
}
