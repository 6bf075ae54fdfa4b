// Tests of people's proposals: the lines above a kernel, and the kernel's changes to its parent.
#include "engine/search/proposal/proposal_file.h"

#include <fmt/format.h>

#include "tests/catch.h"

namespace {

using namespace evolve;
using namespace evolve::search;

const std::string kKernel =
    "import jax\n# EVOLVE-BLOCK-START\nBLOCK = 8\n\ndef add(x, y):\n    return x + y\n"
    "# EVOLVE-BLOCK-END\nLAST = 1\n";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

Adoption adopted(const std::string& text, const std::string& canonical) {
  auto proposal = read_proposal_file(text);
  REQUIRE(proposal);
  auto out = adopt_proposal(*proposal, canonical, {kKernel, {}, "add"});
  REQUIRE(out);
  return *out;
}

}  // namespace

TEST_CASE("the lines above a proposal are read, and written again", "[proposal]") {
  auto read = read_proposal_file(
      "# evolve: parents: v0003,v0012\n# evolve:note:  the sums\tin scratch \nimport jax\n"
      "# evolve: note: not at the top\n");
  REQUIRE(read);
  CHECK(read->parents == std::vector<VariantId>{"v0003", "v0012"});
  CHECK(read->note == "the sums in scratch");
  CHECK(!read->passed);
  CHECK(read->lines_above == 2);
  CHECK(read->code == "import jax\n# evolve: note: not at the top\n");
  CHECK(proposal_text(*read) ==
        "# evolve: parents: v0003, v0012\n# evolve: note: the sums in scratch\n" + read->code);

  auto bare = read_proposal_file("import jax\n");
  REQUIRE(bare);
  CHECK(bare->code == "import jax\n");
  CHECK(proposal_text(*bare) == "import jax\n");

  auto none = read_proposal_file("# evolve: pass:");
  REQUIRE(none);
  CHECK(none->passed == "");
  CHECK(none->code.empty());
}

TEST_CASE("another line above a proposal is told with its number", "[proposal]") {
  for (const auto& [text, what] :
       {std::pair("# evolve: note: x\n# evolve: nota: y\n",
                  "line 2: 'nota': expected 'parents', 'note' or 'pass' and a colon"),
        {"# evolve: parents: v0003, best\n", "line 1: parents: 'best' is not the id of a variant"},
        {"# evolve: parents: v00001\n", "line 1: parents: 'v00001' is not the id of a variant"},
        {"# evolve: parents:\n", "line 1: parents: '' is not the id of a variant"}}) {
    auto read = read_proposal_file(text);
    REQUIRE(!read);
    CHECK(read.error().message == what);
    CHECK(read.error().code == ErrorCode::bad_input);
  }
}

TEST_CASE("a proposal changes its parent's block, with its author's comments", "[proposal]") {
  const std::string wide = changed(kKernel, "BLOCK = 8", "BLOCK = 16  # wide");
  const Adoption out = adopted(wide, changed(kKernel, "BLOCK = 8", "BLOCK = 16"));
  CHECK(!out.problem);
  CHECK(out.kernel == wide);

  // The proposal has the author's own markers; the canonical text has the standard markers.
  const std::string own =
      changed(changed(wide, "# EVOLVE-BLOCK-START", "# MINE"), "# EVOLVE-BLOCK-END", "# MINE-END");
  CHECK(adopted(own, changed(kKernel, "BLOCK = 8", "BLOCK = 16")).kernel ==
        changed(kKernel, "BLOCK = 8", "BLOCK = 16"));

  // The proposal is only the block.
  const std::string block = "BLOCK = 16\n\ndef add(x, y):\n    return y + x\n";
  CHECK(adopted("# evolve: note: turned\n" + block, block).kernel ==
        "import jax\n# EVOLVE-BLOCK-START\n" + block + "# EVOLVE-BLOCK-END\nLAST = 1\n");
}

TEST_CASE("a proposal without a kernel of its own gets its parent's kernel and a reason",
          "[proposal]") {
  // A new comment does not count as a change.
  const Adoption same = adopted(changed(kKernel, "BLOCK = 8", "BLOCK = 8  # small"), kKernel);
  REQUIRE(same.problem);
  CHECK(same.problem->kind == "unchanged");
  CHECK(same.kernel == kKernel);

  const Adoption passed = adopted("# evolve: pass: no idea\n", "");
  REQUIRE(passed.problem);
  CHECK(passed.problem->kind == "passed");
  CHECK(passed.problem->reason == "no idea");
  CHECK(passed.kernel == kKernel);
  CHECK(adopted("# evolve: pass:\n", "").problem->reason == "no kernel was proposed");

  const std::string outside = "LAST = 2\n\ndef add(x, y):\n    return x\n";
  CHECK(adopted(outside, outside).problem->kind == "outside-block");
}

TEST_CASE("the parents of a proposal are older than it", "[proposal]") {
  // The first variant of the second round, with four variants per round.
  constexpr VariantId kFirst(5);
  auto kind_of = [](const std::vector<VariantId>& parents) {
    auto problem = parents_problem(parents, kFirst);
    return problem ? problem->kind + ": " + problem->reason : "";
  };
  CHECK(kind_of({}).empty());
  CHECK(kind_of({"v0000", "v0004"}).empty());
  CHECK(kind_of(std::vector<VariantId>(8, "v0001")).empty());
  CHECK(kind_of(std::vector<VariantId>(9, "v0001")) ==
        "bad-parents: 9 parents, at most 8 are allowed");
  for (const int number : {5, 6, 9, 99'999'999}) {
    const VariantId id(number);
    CHECK(kind_of({"v0001", id}) ==
          fmt::format("bad-parents: parent '{}': not a variant of an earlier round", id));
  }
}
