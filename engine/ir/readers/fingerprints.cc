#include "engine/ir/readers/fingerprints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

// Reads the hexadecimal number after a mark, up to a ':' or the end.
std::optional<uint64_t> count_of(std::string_view fingerprint, std::string_view mark) {
  std::string_view digits = behind(fingerprint, mark);
  digits = digits.substr(0, digits.find(':'));
  return to_number<uint64_t>(digits, 16);
}

}  // namespace

Result<std::vector<Fingerprint>> read_fingerprints(std::string_view text, const std::string& name) {
  std::vector<Fingerprint> out;
  auto error = [&](uint32_t line, const char* what) {
    return bad_input(fmt::format("{}:{}: {}", name, line, what));
  };
  for (uint32_t line = 1; !text.empty(); ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return error(line, "the file ends within a line");
    std::string_view one = text.substr(0, end);
    text.remove_prefix(end + 1);
    size_t blank = std::min(one.find(' '), one.size());
    std::string_view fingerprint = one.substr(0, blank);
    std::string_view module = trimmed(one.substr(blank));
    auto instructions = count_of(fingerprint, ":i=");
    auto allocations = count_of(fingerprint, ":a=");
    bool has_all =
        instructions && allocations && count_of(fingerprint, ":c=") && count_of(fingerprint, ":b=");
    if (!has_all || module.empty()) return error(line, "not the fingerprint of a module");
    if (module.starts_with('<')) continue;
    out.push_back(
        {std::string(module), std::string(fingerprint), *instructions, *allocations, line});
  }
  return out;
}

}  // namespace evolve::ir
