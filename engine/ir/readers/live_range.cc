#include "engine/ir/readers/live_range.h"

#include <algorithm>
#include <optional>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

constexpr uint32_t kOpen = UINT32_MAX;

// Returns the number of the bundle in a line such as "  0x12 LB: > { …".
std::optional<uint32_t> bundle_of(std::string_view line) {
  constexpr size_t kMostHead = 64;  // the most before the '{'
  std::string_view head = line.substr(0, kMostHead);
  size_t open = head.find('{');
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view digits = trimmed(head.substr(0, open));
  bool is_hexadecimal = digits.starts_with("0x");
  if (is_hexadecimal) digits.remove_prefix(2);
  return take_number<uint32_t>(digits, is_hexadecimal ? 16 : 10);
}

// Notes the start or the end of a region in this bundle. `before` is the text before "region", and
// `number` is the text after it.
void note_region(std::string_view before, std::string_view number, uint32_t bundle,
                 std::unordered_map<uint32_t, LiveRange>& out) {
  const auto region = take_number<uint32_t>(number);
  if (!region) return;
  bool is_empty = before.ends_with("Start/End empty ");
  if (is_empty || before.ends_with("Start ")) out.try_emplace(*region, LiveRange{bundle, kOpen});
  if (!is_empty && !before.ends_with("End ")) return;
  if (auto found = out.find(*region); found != out.end()) found->second.last = bundle;
}

}  // namespace

std::unordered_map<uint32_t, LiveRange> live_ranges(std::string_view schedule) {
  constexpr std::string_view kRegion = "region ";
  std::unordered_map<uint32_t, LiveRange> out;
  uint32_t bundle = 0;
  while (!schedule.empty()) {
    size_t end = std::min(schedule.find('\n'), schedule.size());
    std::string_view line = schedule.substr(0, end);
    schedule.remove_prefix(std::min(end + 1, schedule.size()));
    if (auto found = bundle_of(line)) bundle = *found;
    for (size_t at = line.find(kRegion); at != std::string_view::npos;
         at = line.find(kRegion, at + 1))
      note_region(line.substr(0, at), line.substr(at + kRegion.size()), bundle, out);
  }
  std::erase_if(out, [](const auto& one) { return one.second.last == kOpen; });
  return out;
}

}  // namespace evolve::ir
