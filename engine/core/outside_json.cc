#include "engine/core/outside_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "engine/core/text/plain_text.h"

namespace evolve {

namespace {

// The depth to which a text's brackets are nested, and an upper bound of its number of values.
// Wrong numbers for a text that is not JSON do no harm, because the text is rejected anyway.
struct Extent {
  int depth = 0;
  size_t values = 1;
};

Extent extent_of(std::string_view text) {
  Extent out;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '[':
      case '{':
        out.depth = std::max(out.depth, ++depth);
        ++out.values;
        break;
      case ']':
      case '}': --depth; break;
      case ',': ++out.values; break;
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) {
          if (text[at] == '\\') ++at;
        }
        break;
      default: break;
    }
  }
  return out;
}

Status check_extent(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return bad_input(fmt::format("larger than {} bytes", limits.bytes));
  const Extent extent = extent_of(text);
  if (extent.depth > limits.depth)
    return bad_input(fmt::format("nested more than {} deep", limits.depth));
  if (extent.values > limits.values)
    return bad_input(fmt::format("more than {} values", limits.values));
  return {};
}

// Finds the position at which a text stops being JSON, as the number of bytes read so far. Accepts
// all values and keeps none of them.
template <typename Json>
struct Failure final : nlohmann::json_sax<Json> {
  size_t read = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(typename Json::number_integer_t) override { return true; }
  bool number_unsigned(typename Json::number_unsigned_t) override { return true; }
  bool number_float(typename Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(typename Json::binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    read = position;
    return false;
  }
};

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
}

// Returns a text such as "not JSON: line 3, column 7: NaN does not exist in JSON". `read`: the
// number of bytes that were read when the text stopped being JSON.
std::string why_not(std::string_view text, size_t read) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "not JSON: empty";
  if (read > text.size()) return "not JSON: ends too early";
  size_t begin = read == 0 ? 0 : read - 1;
  while (begin > 0 && is_of_word(text[begin]) && is_of_word(text[begin - 1])) --begin;
  size_t end = begin;
  while (end < text.size() && is_of_word(text[end])) ++end;
  const std::string_view word = text.substr(begin, std::min<size_t>(end - begin, 40));
  const std::string_view before = text.substr(0, begin);
  const size_t line_start = before.rfind('\n') + 1;
  const auto column = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start),
                                    before.end(), [](char c) { return (c & 0xC0) != 0x80; }) +
                      1;
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string place = text.find('\n') >= text.size() - 1
                                ? fmt::format("column {}", column)
                                : fmt::format("line {}, column {}", line, column);
  const std::string_view number = word.substr(word.starts_with('-') ? 1 : 0);
  if (number == "NaN" || number == "nan" || number == "Infinity" || number == "inf")
    return fmt::format("not JSON: {}: {} does not exist in JSON", place, word);
  if (!word.empty()) return fmt::format("not JSON: {}: at '{}'", place, word);
  const char c = text[begin];
  return c > 0x20 && c < 0x7F ? fmt::format("not JSON: {}: at '{}'", place, c)
                              : fmt::format("not JSON: {}", place);
}

}  // namespace

template <typename Json>
Result<Json> parse_outside(std::string_view text, const JsonLimits& limits) {
  TRY(check_extent(text, limits));
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  Failure<Json> failure;
  Json::sax_parse(text, &failure);
  return bad_input(why_not(text, failure.read));
}

template Result<nlohmann::json> parse_outside(std::string_view, const JsonLimits&);
template Result<nlohmann::ordered_json> parse_outside(std::string_view, const JsonLimits&);

nlohmann::json json_or_null(std::string_view text) {
  auto value = parse_outside(text);
  return value ? *std::move(value) : nlohmann::json();
}

std::string line_member(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? plain_line(it->get_ref<const std::string&>())
                                               : std::string();
}

}  // namespace evolve
