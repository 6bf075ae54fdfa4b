#include "engine/core/text/plain_text.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "engine/core/text/characters.h"
#include "engine/core/text/lines.h"

namespace evolve {

namespace {

// Control characters and marks of direction: the first and the last of each group.
constexpr std::array<std::pair<uint32_t, uint32_t>, 7> kNotPlain = {{{0x00, 0x1f},
                                                                     {0x7f, 0x9f},
                                                                     {0x61c, 0x61c},
                                                                     {0x200e, 0x200f},
                                                                     {0x2028, 0x202e},
                                                                     {0x2066, 0x2069},
                                                                     {0xfeff, 0xfeff}}};

bool is_plain(uint32_t code) {
  for (const auto& [first, last] : kNotPlain) {
    if (code >= first && code <= last) return false;
  }
  return true;
}

// Calls `visit(bytes, code)` for each character. For a byte that is not UTF-8 the code is nullopt.
template <typename Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const Character first = first_character(text);
    const size_t length = first.length == 0 ? 1 : first.length;
    visit(text.substr(0, length), first.length == 0 ? std::nullopt : std::optional(first.code));
    text.remove_prefix(length);
  }
}

std::string plain(std::string_view text, std::string_view also_plain) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view bytes, std::optional<uint32_t> code) {
    constexpr uint32_t kReplacement = 0xfffd;
    const bool stays =
        code && (is_plain(*code) || also_plain.find(bytes) != std::string_view::npos);
    if (stays) {
      out += bytes;
    } else {
      out += fmt::format("\\u{:04x}", code.value_or(kReplacement));
    }
  });
  return out;
}

}  // namespace

std::string plain_text(std::string_view text) {
  return plain(text, "\n\t");
}

std::string plain_line(std::string_view text) {
  return plain(text, "");
}

bool is_plain_line(std::string_view text) {
  bool out = true;
  for_each_character(text, [&](std::string_view, std::optional<uint32_t> code) {
    out = out && code && is_plain(*code);
  });
  return out;
}

std::string one_line(std::string_view text, size_t most_bytes) {
  std::string out;
  for_each_character(text, [&](std::string_view bytes, std::optional<uint32_t> code) {
    const bool is_blank = !code || *code == ' ' || !is_plain(*code);
    if (!is_blank) out += bytes;
    if (is_blank && !out.empty() && out.back() != ' ') out += ' ';
  });
  return std::string(without_end_blanks(start_of(out, most_bytes)));
}

}  // namespace evolve
