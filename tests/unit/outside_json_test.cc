// Tests of JSON that others wrote: which texts are accepted, and which are refused and why.
#include "engine/core/outside_json.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"

using namespace evolve;
using nlohmann::json;

namespace {

std::string nested(int depth) {
  const auto count = static_cast<size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

std::string why(std::string_view text, const JsonLimits& limits = {}) {
  auto value = parse_outside(text, limits);
  return value ? "" : value.error().message;
}

}  // namespace

TEST_CASE("what is nested too deep is refused, however deep it is") {
  CHECK(why(nested(128)).empty());
  CHECK(why(nested(129)) == "nested more than 128 deep");
  CHECK(why(nested(200'000)) == "nested more than 128 deep");
  CHECK(why(R"({"a":)" + nested(128) + "}") == "nested more than 128 deep");
  CHECK(why("[[1], [2], {}]", {2, 100, 100}).empty());
  CHECK(why("[[[]]]", {2, 100, 100}) == "nested more than 2 deep");
}

TEST_CASE("brackets and commas in texts count for nothing") {
  const auto value = parse_outside(R"(["[[[\"[[,,,", "\\", "]"])", {1, 100, 4});
  REQUIRE(value);
  CHECK((*value)[0] == "[[[\"[[,,,");
}

TEST_CASE("what is large, or has many values, is refused before it is read") {
  CHECK(why("[1, 2]", {9, 5, 9}) == "larger than 5 bytes");
  CHECK(why("[1, 2, 3]", {9, 99, 3}) == "more than 3 values");
  CHECK(why("[1, 2, 3]", {9, 99, 4}).empty());
}

TEST_CASE("a text that is not JSON is refused with the place of the error") {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"", "empty"},
      {" \n ", "empty"},
      {"[", "ends too early"},
      {"\"", "ends too early"},
      {"\"\\", "ends too early"},
      {"]", "column 1: at ']'"},
      {"{\"a\"}", "column 5: at '}'"},
      {"[1] [2]", "column 5: at '['"},
      {"[1, NaN]", "column 5: NaN does not exist in JSON"},
      {"{\"a\": -Infinity}\n", "column 7: -Infinity does not exist in JSON"},
      {"[1,\n \"\u00e4\", nan, 2]", "line 2, column 7: nan does not exist in JSON"},
      {"{\"a\": True}", "column 7: at 'True'"},
      {"{'a': 1}", "column 2: at '''"},
      {"1e999", "column 1: at '1e999'"},
      {"[\x1b[2J]", "column 2"},
      {"\"\xff\"", "column 2"},
  };
  for (const auto& [text, said] : cases) {
    INFO(text);
    CHECK(why(text) == fmt::format("not JSON: {}", said));
    CHECK(json_or_null(text).is_null());
  }
  CHECK(why("\"\\ud800\"").starts_with("not JSON: column "));
}

TEST_CASE("the order of members is kept where it is asked for") {
  auto value = parse_outside<nlohmann::ordered_json>(R"({"b": 1, "a": 2})");
  REQUIRE(value);
  CHECK(value->dump() == R"({"b":1,"a":2})");
}
