// JSON that others wrote: files, answers, bundles, records, what candidates made. The only place
// that parses JSON (tests/unit/layers_test.cc). What is nested deep costs a stack's depth to copy
// and to write, and what has many values a multiple of its text's size: neither is taken.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve {

struct JsonLimits {
  int depth = 128;  // lists and objects within each other
  size_t bytes = size_t{256} << 20;
  size_t values = size_t{16} << 20;
};

// The value that a text is; or bad input that says why it is not taken: "not JSON: line 3, column
// 7: NaN, which JSON does not have", "nested more than 128 deep". `Json` is nlohmann::json, or
// nlohmann::ordered_json.
template <typename Json = nlohmann::json>
Result<Json> parse_outside(std::string_view text, const JsonLimits& limits = {});

// The same; null for a text that is not taken.
nlohmann::json json_or_null(std::string_view text);

// The string that an object's member is, printable and in one line; empty where there is none.
std::string line_member(const nlohmann::json& object, const char* key);

}  // namespace evolve
