#include "engine/search/proposal/heading.h"

#include <fmt/format.h>

#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/proposal/adoption.h"

namespace evolve::search {

namespace {

constexpr std::string_view kOpening = "# evolve:";

}  // namespace

Result<size_t> take_heading(std::string_view& text, const TakeHeading& take) {
  size_t lines = 0;
  while (text.starts_with(kOpening)) {
    ++lines;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    line.remove_prefix(kOpening.size());
    const size_t colon = line.find(':');
    const bool has_value = colon != std::string_view::npos;
    auto taken = take(without_blanks(line.substr(0, colon)),
                      has_value ? without_blanks(line.substr(colon + 1)) : std::string_view());
    if (!taken) return std::move(taken).error().within(fmt::format("line {}", lines));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string heading_line(std::string_view key, std::string_view value) {
  const std::string said = one_line(value, kMostNoteBytes);
  return fmt::format("{} {}:{}{}\n", kOpening, key, said.empty() ? "" : " ", said);
}

}  // namespace evolve::search
