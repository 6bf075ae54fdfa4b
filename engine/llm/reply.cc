#include "engine/llm/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/llm/edits.h"
#include "engine/llm/fences.h"
#include "engine/search/proposal/mutation.h"

namespace evolve::llm {

namespace {

using search::bound_names;
using search::Code;
using search::is_same_text;
using search::kBlockEnd;
using search::kBlockStart;
using search::kMostNoteBytes;
using search::Problem;

constexpr size_t kMostLearnings = 10;

Code refused(const char* kind, std::string reason) {
  return {{}, Problem{kind, std::move(reason)}};
}

bool is_python(const std::string& language) {
  return language == "python" || language == "py" || language == "python3" || language == "jax";
}

// Whether a text is code in a language other than Python, whatever its fence says.
bool is_other_code(std::string_view text) {
  static const std::array<std::string_view, 6> kSigns = {
      "#include ", "__global__", "import triton", "@triton.jit", "using namespace ", "fn main("};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

bool is_other_language(const std::string& language) {
  static const std::set<std::string> kLanguages = {
      "c",    "c++",  "cc",  "cpp",   "cuda",       "cu",         "hip",  "triton", "rust", "go",
      "java", "mlir", "ptx", "julia", "javascript", "typescript", "hlsl", "opencl", "metal"};
  return kLanguages.contains(language);
}

// Returns the Python code of a reply, or the reason why the code is missing.
Code python_of(const std::vector<FencedBlock>& blocks, const search::AdoptionContext& context) {
  std::vector<std::string> texts;
  std::string other;
  for (const FencedBlock& block : blocks) {
    const bool may_be = is_python(block.language) || block.language.empty();
    if (is_other_language(block.language) || (may_be && is_other_code(block.text))) {
      other = block.language.empty() || is_python(block.language) ? "a language other than Python"
                                                                  : "'" + block.language + "'";
      continue;
    }
    const bool is_code =
        is_python(block.language) || (block.language.empty() && !bound_names(block.text).empty());
    const bool is_new = std::none_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return is_same_text(text, block.text);
    });
    if (is_code && is_new && !without_blanks(block.text).empty()) texts.push_back(block.text);
  }
  if (texts.empty() && !other.empty())
    return refused("wrong-language",
                   fmt::format("the code is in {}; the kernel is JAX Pallas in Python", other));
  if (texts.empty())
    return refused("no-code", "the reply has no fenced Python block and no SEARCH/REPLACE edit");
  if (texts.size() == 1) return {texts.front(), std::nullopt};
  std::vector<std::string> whole;
  std::copy_if(texts.begin(), texts.end(), std::back_inserter(whole),
               [&](const std::string& text) { return bound_names(text).contains(context.entry); });
  if (whole.size() == 1) return {whole.front(), std::nullopt};
  return refused(
      "several-blocks",
      fmt::format("{} different Python blocks, {} of them with a definition of '{}'; expected one",
                  texts.size(), whole.empty() ? "none" : std::to_string(whole.size()),
                  context.entry));
}

Code edited_block(const Edits& edits, std::string_view parent, const search::EvolveBlock& block) {
  Edited edited = apply_edits(parent, block.begin, block.end, edits.edits);
  if (edited.problems.empty()) return {std::move(edited.block), std::nullopt};
  const bool is_outside = std::all_of(edited.problems.begin(), edited.problems.end(),
                                      [](const EditProblem& one) { return one.is_outside; });
  return refused(is_outside ? "outside-block" : "diff-does-not-apply",
                 edited.problems.front().reason);
}

// Returns a whole kernel file that came without a fence, as one block. Empty: the text is not a
// whole file.
std::vector<FencedBlock> bare_file(std::string_view text) {
  const bool is_file = text.find(kBlockStart) != std::string_view::npos &&
                       text.find(kBlockEnd) != std::string_view::npos;
  if (!is_file) return {};
  return {{"python", std::string(text), true}};
}

// Returns why a reply cannot be read at all. Nullopt: the reply can be read.
std::optional<Problem> unreadable(std::string_view text, Finish finish) {
  if (without_blanks(text).empty()) {
    return Problem{"empty", finish == Finish::filtered ? "the provider's filter stopped the reply"
                            : finish == Finish::length ? "the reply has no text within its limit"
                                                       : "the reply has no text"};
  }
  if (finish == Finish::length)
    return Problem{"truncated", "the reply was cut off at its limit of tokens; be shorter"};
  return std::nullopt;
}

Code find_code(std::string_view text, Finish finish, const search::AdoptionContext& context,
               const search::EvolveBlock& block) {
  if (auto problem = unreadable(text, finish)) return {{}, std::move(problem)};
  const Edits edits = read_edits(text);
  if (edits.is_cut_off) return refused("truncated", "the last SEARCH/REPLACE edit has no end");
  if (!edits.edits.empty()) return edited_block(edits, context.parent, block);
  std::vector<FencedBlock> blocks = fenced_blocks(text);
  if (!blocks.empty() && !blocks.back().is_closed)
    return refused("truncated", "the last fenced block has no end");
  if (blocks.empty()) blocks = bare_file(text);
  Code code = python_of(blocks, context);
  if (code.problem) return code;
  return search::block_of(code.text, *search::pieces_of(context.parent));
}

std::vector<std::string> tagged(std::string_view text, const std::string& tag, size_t most) {
  const std::string open = "<" + tag + ">", close = "</" + tag + ">";
  std::vector<std::string> out;
  for (size_t at = 0; out.size() < most;) {
    const size_t begin = text.find(open, at);
    if (begin == std::string_view::npos) break;
    const size_t end = text.find(close, begin);
    if (end == std::string_view::npos) break;
    std::string note =
        one_line(text.substr(begin + open.size(), end - begin - open.size()), kMostNoteBytes);
    if (!note.empty()) out.push_back(std::move(note));
    at = end + close.size();
  }
  return out;
}

// Returns the text without the thoughts at its start. A model that writes down its thoughts begins
// with them.
std::string_view without_thoughts(std::string_view text) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (!without_blanks(text.substr(0, text.find(kOpen))).empty() ||
      text.find(kOpen) == std::string_view::npos)
    return text;
  const size_t end = text.find(kClose);
  return end == std::string_view::npos ? std::string_view() : text.substr(end + kClose.size());
}

}  // namespace

Result<Proposal> read_proposal(std::string_view text, Finish finish,
                               const search::AdoptionContext& context) {
  TRY_ASSIGN(auto block, search::find_block(context.parent));
  text = without_thoughts(text);
  TRY_ASSIGN(auto adopted, search::adopt(find_code(text, finish, context, block), context));
  Proposal out = {.kernel = std::move(adopted.kernel), .problem = std::move(adopted.problem)};
  out.learnings = tagged(text, "learning", kMostLearnings);
  for (std::string& plan : tagged(text, "plan", 1)) out.plan = std::move(plan);
  return out;
}

PlanReply read_plan_reply(std::string_view text, Finish finish) {
  text = without_thoughts(text);
  if (auto problem = unreadable(text, finish)) return {{}, std::move(problem)};
  return {std::string(without_blanks(text)), std::nullopt};
}

}  // namespace evolve::llm
