#include "engine/search/proposal/adoption.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/text/lines.h"
#include "engine/core/text/scan.h"
#include "engine/search/proposal/mutation.h"

namespace evolve::search {

namespace {

// Returns the name that an unindented line binds: "def f(", "class C", "NAME =", "NAME: int =".
std::string_view bound_name(std::string_view line) {
  for (std::string_view word : {"def ", "class ", "async def "}) {
    if (!line.starts_with(word)) continue;
    const std::string_view rest = without_blanks(line.substr(word.size()));
    return rest.substr(
        0, static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_word_character) -
                               rest.begin()));
  }
  const auto end = std::find_if_not(line.begin(), line.end(), is_word_character);
  const std::string_view name = line.substr(0, static_cast<size_t>(end - line.begin()));
  const std::string_view rest = without_blanks(line.substr(name.size()));
  const bool is_assigned = (rest.starts_with('=') && !rest.starts_with("==")) ||
                           (rest.starts_with(':') && rest.find('=') != std::string_view::npos);
  return is_assigned ? name : std::string_view();
}

// Drops lines of the parent's head from the code's start, and lines of the parent's tail from its
// end. The code may be a whole file that was written without its markers.
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

// Whether the kernel's block is at the place of the parent's block. A block that contains markers
// would move the block of its children.
bool keeps_markers(const std::string& kernel, const Pieces& parent) {
  auto block = find_block(kernel);
  return block && block->begin == parent.head.size() &&
         kernel.size() - block->end == parent.tail.size();
}

Code refused(const char* kind, std::string reason) {
  return {{}, Problem{kind, std::move(reason)}};
}

}  // namespace

std::set<std::string_view> bound_names(std::string_view text) {
  std::set<std::string_view> out;
  for (std::string_view line : lines_of(text)) {
    if (!bound_name(line).empty()) out.insert(bound_name(line));
  }
  return out;
}

bool is_same_text(std::string_view a, std::string_view b) {
  const auto left = lines_of(without_blanks(a)), right = lines_of(without_blanks(b));
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](std::string_view one, std::string_view other) {
                      return without_end_blanks(one) == without_end_blanks(other);
                    });
}

Result<Pieces> pieces_of(std::string_view source) {
  TRY_ASSIGN(auto block, find_block(source));
  return Pieces{source.substr(0, block.begin), source.substr(block.begin, block.end - block.begin),
                source.substr(block.end)};
}

Code block_of(const std::string& code, const Pieces& parent) {
  const bool has_start = code.find(kBlockStart) != std::string::npos;
  const bool has_end = code.find(kBlockEnd) != std::string::npos;
  if (has_start != has_end)
    return refused("outside-block", "the code has only one of the EVOLVE block's two markers");
  if (has_start) {
    auto pieces = pieces_of(code);
    if (!pieces) return refused("outside-block", pieces.error().message);
    return {joined(lines_of(pieces->block)), std::nullopt};
  }
  std::string rest = without_frame(code, parent);
  std::set<std::string_view> outside = bound_names(parent.head);
  outside.merge(bound_names(parent.tail));
  for (std::string_view name : bound_names(rest)) {
    if (outside.contains(name)) {
      return refused("outside-block", fmt::format("the code has no markers, and defines '{}', "
                                                  "which belongs outside of the EVOLVE block",
                                                  name));
    }
  }
  return {std::move(rest), std::nullopt};
}

Result<Adoption> adopt(Code lines, const AdoptionContext& context) {
  TRY_ASSIGN(auto parent, pieces_of(context.parent));
  auto refuse = [&](const char* kind, std::string reason) {
    if (!lines.problem) lines.problem = {kind, std::move(reason)};
  };
  if (bound_names(parent.block).contains(context.entry) &&
      !bound_names(lines.text).contains(context.entry))
    refuse("no-code", fmt::format("the code does not define '{}'", context.entry));
  if (is_same_text(lines.text, parent.block))
    refuse("unchanged", "the code equals the parent's code");
  std::string kernel = fmt::format("{}{}{}", parent.head, lines.text, parent.tail);
  if (!keeps_markers(kernel, parent))
    refuse("outside-block", "the code contains additional EVOLVE block markers");
  for (const std::string& other : context.others) {
    if (is_same_text(kernel, other)) refuse("unchanged", "the code equals another parent's code");
  }
  if (lines.problem) kernel = context.parent;
  return Adoption{std::move(kernel), std::move(lines.problem)};
}

}  // namespace evolve::search
