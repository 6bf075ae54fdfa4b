// Scanning a text from its front: digits, letters and numbers, in ASCII whatever the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace evolve {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// Whether names in most programming languages may contain the character.
constexpr bool is_word_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

// Takes a number from the front of a text. Nullopt, and the text is unchanged: the text does not
// begin with a number, or the number does not fit. `base` is for integers.
template <typename Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number value = 0;
  std::from_chars_result read = {};
  if constexpr (std::is_integral_v<Number>) {
    read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  } else {
    read = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return value;
}

// Returns the number that the whole text represents. Nullopt: the text is not a number, or the
// number does not fit.
template <typename Number>
std::optional<Number> to_number(std::string_view text, int base = 10) {
  const auto value = take_number<Number>(text, base);
  return text.empty() ? value : std::nullopt;
}

}  // namespace evolve
