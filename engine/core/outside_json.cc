#include "engine/core/outside_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace evolve {

namespace {

// How deep a text's brackets are nested, and at most how many values it has. Of a text that is no
// JSON the numbers mean nothing, which does no harm.
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

}  // namespace

template <typename Json>
Result<Json> parse_outside(std::string_view text, const JsonLimits& limits) {
  if (auto status = check_extent(text, limits); !status) return std::move(status).error();
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return bad_input("not JSON");
  return value;
}

template Result<nlohmann::json> parse_outside(std::string_view, const JsonLimits&);
template Result<nlohmann::ordered_json> parse_outside(std::string_view, const JsonLimits&);

nlohmann::json json_or_null(std::string_view text) {
  auto value = parse_outside(text);
  return value ? *std::move(value) : nlohmann::json();
}

}  // namespace evolve
