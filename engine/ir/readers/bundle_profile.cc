#include "engine/ir/readers/bundle_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

// Takes a number and the mark after it from the front of the text.
std::optional<uint64_t> take_marked(std::string_view& text, std::string_view mark) {
  const auto value = take_number<uint64_t>(text);
  if (!value || !text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(mark.size());
  return value;
}

// Reads a counter: "MXU_0 matmul: (32/299) - 0.107023".
std::optional<ProfileCounter> read_counter(std::string_view text) {
  constexpr std::string_view kOpen = ": (";
  size_t open = text.find(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view counts = text.substr(open + kOpen.size());
  auto used = take_marked(counts, "/");
  auto available = used ? take_marked(counts, ") - ") : std::nullopt;
  if (!available) return std::nullopt;
  return ProfileCounter{std::string(text.substr(0, open)), *used, *available};
}

}  // namespace

Result<std::vector<InstructionProfile>> read_bundle_profile(std::string_view text,
                                                            const std::string& name) {
  constexpr std::string_view kHlo = "HLO: ";
  constexpr std::string_view kCounter = " - ";
  std::vector<InstructionProfile> out;
  auto error = [&](uint32_t line, const char* what) {
    return bad_input(fmt::format("{}:{}: {}", name, line, what));
  };
  bool has_begun = false;
  bool is_kept = false;  // the counters belong to an HLO instruction
  bool is_in_hlo = false;
  for (uint32_t number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return error(number, "the file ends within a line");
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with(kHlo)) {
      has_begun = is_in_hlo = true;
      is_kept = line.substr(kHlo.size()).starts_with('%');
      if (!is_kept) continue;
      std::string_view instruction = line.substr(kHlo.size() + 1);
      instruction = instruction.substr(0, instruction.find(' '));
      if (instruction.empty()) return error(number, "an HLO instruction has no name");
      out.push_back({std::string(instruction), number, {}});
    } else if (line.starts_with(kCounter)) {
      auto counter = read_counter(line.substr(kCounter.size()));
      if (!counter) return error(number, "a counter has no used and available values");
      if (!has_begun) return error(number, "a counter belongs to no HLO instruction");
      is_in_hlo = false;
      if (is_kept) out.back().counters.push_back(*std::move(counter));
    } else if (!is_in_hlo && !trimmed(line).empty()) {
      // A line after the instruction is the rest of an attribute that has line breaks. No other
      // line is allowed.
      return error(number, "not a line of a profile");
    }
  }
  return out;
}

}  // namespace evolve::ir
