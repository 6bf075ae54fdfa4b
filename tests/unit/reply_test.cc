// Tests of the code of a reply: each form, each named problem, and the text that never changes.
#include "engine/llm/reply.h"

#include "engine/llm/fences.h"
#include "engine/search/proposal/mutation.h"
#include "engine/search/space/random.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::llm;

namespace {

const std::string head = "\"\"\"Adds.\"\"\"\n\nimport jax\nLIMIT = 4  \n\n# EVOLVE-BLOCK-START\n";
const std::string block =
    "BLOCK = 128\n\n\ndef body(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n\n\n"
    "def add(x):\n    return body(x)\n";
const std::string tail = "# EVOLVE-BLOCK-END\nEXTRA = 1\n";
const std::string parent = head + block + tail;
const std::string new_block = "BLOCK = 256\n\n\ndef add(x):\n    return x\n";

Proposal read(const std::string& text, Finish finish = Finish::stop,
              const std::vector<std::string>& others = {}) {
  auto proposal = read_proposal(text, finish, {parent, others, "add"});
  if (!proposal) FAIL(proposal.error().message);
  return *std::move(proposal);
}

std::string python(const std::string& code) {
  return "Here it is.\n```python\n" + code + "```\nDone.\n";
}

std::string kind_of(const Proposal& proposal) {
  return proposal.problem ? proposal.problem->kind : "";
}

std::string edit(const std::string& search, const std::string& replace) {
  return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
}

void check_new(const Proposal& proposal) {
  INFO((proposal.problem ? proposal.problem->reason : ""));
  CHECK(kind_of(proposal).empty());
  CHECK(proposal.kernel == head + new_block + tail);
}

}  // namespace

TEST_CASE("a block alone, a whole file, and a file without markers give the same kernel") {
  check_new(read(python(new_block)));
  check_new(read(python(parent.substr(0, head.size()) + new_block + tail)));
  check_new(read(python("import jax\n\n" + new_block)));
  check_new(read(python(head.substr(0, head.find("# EVOLVE")) + new_block + "EXTRA = 1\n")));
  check_new(read("~~~~py\n" + new_block + "~~~~\n"));
  check_new(read("```\n" + new_block + "```"));
  check_new(read(head + new_block + tail));
  check_new(read("<think>```python\nx = 1\n```</think>\n" + python(new_block)));
}

TEST_CASE("text outside of the block is the parent's, whatever the file of the reply has there") {
  check_new(read(python("import os\n# EVOLVE-BLOCK-START\n" + new_block + "# EVOLVE-BLOCK-END\n")));
}

TEST_CASE("line ends of another system and blanks at lines' ends do no harm") {
  std::string text = python(new_block);
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");
  check_new(read(text));
}

TEST_CASE("edits apply where each is there once") {
  auto proposal = read("Two edits.\n```\n" + edit("BLOCK = 128   \n", "BLOCK = 256\n") + "```\n" +
                       edit("def body(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n", ""));
  CHECK(kind_of(proposal).empty());
  CHECK(proposal.kernel == head + "BLOCK = 256\n\n\n\n\ndef add(x):\n    return body(x)\n" + tail);
}

TEST_CASE("the order of edits does not matter") {
  const std::string first = edit("BLOCK = 128\n", "BLOCK = 256\n"),
                    second = edit("    return body(x)\n", "    return x\n");
  CHECK(read(first + second).kernel == read(second + first).kernel);
}

TEST_CASE("edits that do not apply say which one, and why") {
  auto proposal = read(edit("BLOCK = 128\n", "BLOCK = 1\n") + edit("BLOCK = 64\n", "x\n"));
  CHECK(kind_of(proposal) == "diff-does-not-apply");
  CHECK(proposal.problem->reason ==
        "edit 2 of 2: SEARCH is not in the source: no line equals 'BLOCK = 64'");
  CHECK(proposal.kernel == parent);
  CHECK(read(edit("\n\n", "x\n")).problem->reason == "edit 1 of 1: SEARCH is empty");
  CHECK(read(edit("\n", "")).problem->kind == "diff-does-not-apply");
  auto twice = read_proposal(edit("a\n", "b\n"), Finish::stop,
                             {"# EVOLVE-BLOCK-START\na\na\n# EVOLVE-BLOCK-END\n", {}, "add"});
  REQUIRE(twice);
  CHECK(twice->problem->reason ==
        "edit 1 of 1: SEARCH matches 2 times; add lines to make it unique");
  CHECK(kind_of(read(edit("def add(x):\n    return body(x)\n", "x\n") +
                     edit("    return body(x)\n", "y\n"))) == "diff-does-not-apply");
}

TEST_CASE("edits outside of the block are refused") {
  CHECK(kind_of(read(edit("import jax\n", "import os\n"))) == "outside-block");
  CHECK(kind_of(read(edit("EXTRA = 1\n", "EXTRA = 2\n"))) == "outside-block");
}

TEST_CASE("code that binds what is outside of the block is refused where it has no markers") {
  auto proposal = read(python("LIMIT = 5\n" + new_block));
  CHECK(kind_of(proposal) == "outside-block");
  CHECK(proposal.kernel == parent);
  CHECK(kind_of(read(python("# EVOLVE-BLOCK-START\n" + new_block))) == "outside-block");
}

TEST_CASE("markers within the block would move it, and are refused") {
  CHECK(kind_of(read(edit("BLOCK = 128\n", "# EVOLVE-BLOCK-END\n# EVOLVE-BLOCK-START\n"))) ==
        "outside-block");
}

TEST_CASE("a reply without code says so") {
  CHECK(kind_of(read("I would rather not.")) == "no-code");
  CHECK(kind_of(read("```text\nuse less memory\n```")) == "no-code");
  CHECK(kind_of(read(python("BLOCK = 256\n"))) == "no-code");
  CHECK(read(python("BLOCK = 256\n")).problem->reason == "the code does not define 'add'");
}

TEST_CASE("an empty reply says why it is") {
  CHECK(kind_of(read(" \n")) == "empty");
  CHECK(read("", Finish::filtered).problem->reason == "the provider's filter stopped the reply");
  CHECK(kind_of(read("<think>and so on")) == "empty");
}

TEST_CASE("of several blocks the one that defines the entry counts, if it is one") {
  check_new(read(python("BLOCK = 256\n") + python(new_block)));
  check_new(read(python(new_block) + python(new_block)));
  CHECK(kind_of(read(python(new_block) + python(block))) == "several-blocks");
  CHECK(kind_of(read(python("A = 1\n") + python("B = 1\n"))) == "several-blocks");
}

TEST_CASE("other languages are told apart, whatever the fence says") {
  CHECK(kind_of(read("```cpp\nint main() {}\n```")) == "wrong-language");
  CHECK(kind_of(read("```cuda\n__global__ void f();\n```")) == "wrong-language");
  CHECK(kind_of(read("```\n#include <x.h>\n```")) == "wrong-language");
  CHECK(kind_of(read(python("import triton\n@triton.jit\ndef add(x):\n  pass\n"))) ==
        "wrong-language");
  check_new(read("```bash\nls\n```\n" + python(new_block)));
}

TEST_CASE("code that was cut off does not count") {
  CHECK(kind_of(read(python(new_block), Finish::length)) == "truncated");
  CHECK(kind_of(read("```python\n" + new_block)) == "truncated");
  CHECK(kind_of(read("<<<<<<< SEARCH\nBLOCK = 128\n=======\nBLOCK = 1\n")) == "truncated");
}

TEST_CASE("the parent's own code is not a change") {
  CHECK(kind_of(read(python(block))) == "unchanged");
  CHECK(kind_of(read(python(parent))) == "unchanged");
  CHECK(kind_of(read(edit("BLOCK = 128\n", "BLOCK = 128\n"))) == "unchanged");
  CHECK(kind_of(read(python(new_block), Finish::stop, {head + new_block + tail})) == "unchanged");
}

TEST_CASE("plan and learnings are read, in one line each, and are never long") {
  auto proposal = read("<plan>bigger\n  blocks</plan>\n" + python(new_block) +
                       "<learning>HBM bound</learning><learning> </learning>\n<learning>" +
                       std::string(3000, 'x') + "</learning><learning>open");
  check_new(proposal);
  CHECK(proposal.plan == "bigger blocks");
  REQUIRE(proposal.learnings.size() == 2);
  CHECK(proposal.learnings[0] == "HBM bound");
  CHECK(proposal.learnings[1].size() == 500);
}

TEST_CASE("a parent without a block is an error") {
  CHECK(!read_proposal("x", Finish::stop, {"def add(x):\n", {}, "add"}));
}

TEST_CASE("a fence cannot be closed by what is in it") {
  const std::string text = "a\n```\n`````python\nb ``\n";
  const std::string out = fenced(text, "text");
  auto blocks = fenced_blocks(out + "\nmore\n");
  REQUIRE(blocks.size() == 1);
  CHECK(blocks.front().text == text);
  CHECK(blocks.front().language == "text");
  CHECK(blocks.front().is_closed);
}

TEST_CASE("no words crash the reader, and text outside of the block stays") {
  search::Random random(2);
  const std::vector<std::string> words = {"```",
                                          "```python\n",
                                          "~~~",
                                          "<<<<<<< SEARCH\n",
                                          "=======\n",
                                          ">>>>>>> REPLACE\n",
                                          "\n",
                                          "\r",
                                          "\xff",
                                          "# EVOLVE-BLOCK-START\n",
                                          "# EVOLVE-BLOCK-END\n",
                                          "<plan>",
                                          "</plan>",
                                          "def add(x):\n",
                                          "BLOCK = 128\n",
                                          "import jax\n",
                                          "<think>",
                                          "</think>",
                                          "EXTRA = 1\n",
                                          "<learning>",
                                          "</learning>",
                                          std::string(1, '\0'),
                                          "x = 1\n",
                                          block};
  int usable = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (uint64_t count = random.below(16); count > 0; --count)
      text += words[random.below(words.size())];
    const Proposal proposal = read(text);
    usable += proposal.problem ? 0 : 1;
    CHECK(proposal.kernel.starts_with(head));
    CHECK(proposal.kernel.ends_with(tail));
    CHECK((!proposal.problem || proposal.kernel == parent));
    auto found = search::find_block(proposal.kernel);
    REQUIRE(found);
    CHECK(found->begin == head.size());
  }
  CHECK(usable > 0);
}
