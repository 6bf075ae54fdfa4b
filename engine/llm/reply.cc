#include "engine/llm/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/core/lines.h"
#include "engine/llm/edits.h"
#include "engine/llm/fences.h"
#include "engine/search/mutation.h"

namespace evolve::llm {

namespace {

using search::kBlockEnd;
using search::kBlockStart;

constexpr size_t kMostNoteBytes = 500;
constexpr size_t kMostLearnings = 10;

// A source in three pieces; the markers are parts of head and tail.
struct Pieces {
  std::string_view head, block, tail;
};

Pieces pieces_of(std::string_view source, const search::EvolveBlock& block) {
  return {source.substr(0, block.begin), source.substr(block.begin, block.end - block.begin),
          source.substr(block.end)};
}

// What the reply gives: lines for the block, or a problem.
struct Found {
  std::string block;
  std::optional<Problem> problem;
};

Found refused(const char* kind, std::string reason) {
  return {{}, Problem{kind, std::move(reason)}};
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The name that a line at the left margin binds: "def f(", "class C", "NAME =", "NAME: int =".
std::string_view bound_name(std::string_view line) {
  for (std::string_view word : {"def ", "class ", "async def "}) {
    if (!line.starts_with(word)) continue;
    const std::string_view rest = without_blanks(line.substr(word.size()));
    return rest.substr(
        0, static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_word_char) -
                               rest.begin()));
  }
  const auto end = std::find_if_not(line.begin(), line.end(), is_word_char);
  const std::string_view name = line.substr(0, static_cast<size_t>(end - line.begin()));
  const std::string_view rest = without_blanks(line.substr(name.size()));
  const bool is_assigned = (rest.starts_with('=') && !rest.starts_with("==")) ||
                           (rest.starts_with(':') && rest.find('=') != std::string_view::npos);
  return is_assigned ? name : std::string_view();
}

std::set<std::string_view> bound_names(std::string_view text) {
  std::set<std::string_view> out;
  for (std::string_view line : lines_of(text)) {
    if (!bound_name(line).empty()) out.insert(bound_name(line));
  }
  return out;
}

bool defines(std::string_view text, const std::string& name) {
  return bound_names(text).contains(name);
}

bool is_python(const std::string& language) {
  return language == "python" || language == "py" || language == "python3" || language == "jax";
}

// Whether a text is code of another kind, whatever its fence says.
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

// Blank lines at either end, and blanks at lines' ends, make no difference.
bool is_same_text(std::string_view a, std::string_view b) {
  const auto left = lines_of(without_blanks(a)), right = lines_of(without_blanks(b));
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](std::string_view one, std::string_view other) {
                      return without_end_blanks(one) == without_end_blanks(other);
                    });
}

// The Python of a reply, or why there is none.
Found python_of(const std::vector<FencedBlock>& blocks, const ReplyContext& context) {
  std::vector<std::string> texts;
  std::string other;
  for (const FencedBlock& block : blocks) {
    const bool may_be = is_python(block.language) || block.language.empty();
    if (is_other_language(block.language) || (may_be && is_other_code(block.text))) {
      other = block.language.empty() || is_python(block.language) ? "another language than Python"
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
               [&](const std::string& text) { return defines(text, context.entry); });
  if (whole.size() == 1) return {whole.front(), std::nullopt};
  return refused("several-blocks",
                 fmt::format("{} different Python blocks, of which {} define '{}': one is expected",
                             texts.size(), whole.empty() ? "none" : std::to_string(whole.size()),
                             context.entry));
}

// Drops the lines at the code's start that the parent's head has, and at its end those of the tail:
// a file that was written without its markers.
std::string without_frame(std::string_view code, const Pieces& parent) {
  auto known = [](std::string_view text) {
    std::set<std::string_view> out;
    for (std::string_view line : lines_of(text)) out.insert(without_end_blanks(line));
    return out;
  };
  std::set<std::string_view> head = known(parent.head), tail = known(parent.tail);
  head.insert("");
  tail.insert("");
  const auto lines = lines_of(code);
  size_t begin = 0, end = lines.size();
  while (begin < end && head.contains(without_end_blanks(lines[begin]))) ++begin;
  while (end > begin && tail.contains(without_end_blanks(lines[end - 1]))) --end;
  return joined(std::vector<std::string_view>(lines.begin() + static_cast<ptrdiff_t>(begin),
                                              lines.begin() + static_cast<ptrdiff_t>(end)));
}

// The block's lines of a code that is the whole file, or the block alone.
Found block_of(const std::string& code, const Pieces& parent) {
  const bool has_start = code.find(kBlockStart) != std::string::npos;
  const bool has_end = code.find(kBlockEnd) != std::string::npos;
  if (has_start != has_end)
    return refused("outside-block", "only one of the EVOLVE block's two markers is in the code");
  if (has_start) {
    auto block = search::find_block(code);
    if (!block) return refused("outside-block", block.error().message);
    return {joined(lines_of(pieces_of(code, *block).block)), std::nullopt};
  }
  std::string rest = without_frame(code, parent);
  std::set<std::string_view> outside = bound_names(parent.head);
  outside.merge(bound_names(parent.tail));
  for (std::string_view name : bound_names(rest)) {
    if (outside.contains(name)) {
      return refused("outside-block",
                     fmt::format("the code has no markers, and binds '{}', which is outside of the "
                                 "EVOLVE block",
                                 name));
    }
  }
  return {std::move(rest), std::nullopt};
}

Found edited_block(const Edits& edits, std::string_view parent, const search::EvolveBlock& block) {
  Edited edited = apply_edits(parent, block.begin, block.end, edits.edits);
  if (edited.problems.empty()) return {std::move(edited.block), std::nullopt};
  const bool is_outside = std::all_of(edited.problems.begin(), edited.problems.end(),
                                      [](const EditProblem& one) { return one.is_outside; });
  return refused(is_outside ? "outside-block" : "diff-does-not-apply",
                 edited.problems.front().reason);
}

// Of a file that came without a fence.
std::vector<FencedBlock> bare_file(std::string_view text) {
  const bool is_file = text.find(kBlockStart) != std::string_view::npos &&
                       text.find(kBlockEnd) != std::string_view::npos;
  if (!is_file) return {};
  return {{"python", std::string(text), true}};
}

Found find_code(std::string_view text, Finish finish, const ReplyContext& context,
                const search::EvolveBlock& block) {
  if (without_blanks(text).empty()) {
    return refused("empty", finish == Finish::filtered ? "the provider's filter stopped the reply"
                            : finish == Finish::length ? "the reply has no text within its limit"
                                                       : "the reply has no text");
  }
  if (finish == Finish::length)
    return refused("truncated", "the reply was cut off at its limit of tokens; be shorter");
  const Edits edits = read_edits(text);
  if (edits.is_cut_off) return refused("truncated", "the last SEARCH/REPLACE edit has no end");
  if (!edits.edits.empty()) return edited_block(edits, context.parent, block);
  std::vector<FencedBlock> blocks = fenced_blocks(text);
  if (!blocks.empty() && !blocks.back().is_closed)
    return refused("truncated", "the last fenced block has no end");
  if (blocks.empty()) blocks = bare_file(text);
  Found code = python_of(blocks, context);
  if (code.problem) return code;
  return block_of(code.block, pieces_of(context.parent, block));
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

// A model that thinks aloud does so first.
std::string_view without_thoughts(std::string_view text) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (!without_blanks(text.substr(0, text.find(kOpen))).empty() ||
      text.find(kOpen) == std::string_view::npos)
    return text;
  const size_t end = text.find(kClose);
  return end == std::string_view::npos ? std::string_view() : text.substr(end + kClose.size());
}

// A block that brings markers of its own would move the block of its children.
bool keeps_markers(const std::string& kernel, const Pieces& parent) {
  auto block = search::find_block(kernel);
  return block && block->begin == parent.head.size() &&
         kernel.size() - block->end == parent.tail.size();
}

}  // namespace

Result<Proposal> read_proposal(std::string_view text, Finish finish, const ReplyContext& context) {
  auto block = search::find_block(context.parent);
  if (!block) return std::move(block).error();
  const Pieces parent = pieces_of(context.parent, *block);
  text = without_thoughts(text);
  Proposal out;
  out.learnings = tagged(text, "learning", kMostLearnings);
  for (std::string& plan : tagged(text, "plan", 1)) out.plan = std::move(plan);
  Found found = find_code(text, finish, context, *block);
  if (!found.problem && defines(parent.block, context.entry) &&
      !defines(found.block, context.entry)) {
    found = refused("no-code", fmt::format("the code does not define '{}'", context.entry));
  }
  if (!found.problem && is_same_text(found.block, parent.block))
    found = refused("unchanged", "the code is the parent's");
  out.kernel = fmt::format("{}{}{}", parent.head, found.block, parent.tail);
  if (!found.problem && !keeps_markers(out.kernel, parent))
    found = refused("outside-block", "the code has markers of an EVOLVE block of its own");
  for (const std::string& other : context.others) {
    if (!found.problem && is_same_text(out.kernel, other))
      found = refused("unchanged", "the code is that of another parent");
  }
  if (found.problem) out.kernel = context.parent;
  out.problem = std::move(found.problem);
  return out;
}

}  // namespace evolve::llm
