// The parser of JSON that others wrote: files, answers, bundles, records and the outputs of
// candidates. No other code parses JSON (tests/unit/layers_test.cc). The depth is limited, because
// copying and writing a deeply nested value need much stack. The number of values is limited,
// because values need a multiple of the text's memory.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace evolve {

struct JsonLimits {
  int depth = 128;  // nesting of lists and objects
  size_t bytes = size_t{256} << 20;
  size_t values = size_t{16} << 20;
};

// Parses a text. Bad input says why the text is rejected, such as "not JSON: line 3, column 7: NaN
// does not exist in JSON". `Json` is nlohmann::json or nlohmann::ordered_json.
template <typename Json = nlohmann::json>
Result<Json> parse_outside(std::string_view text, const JsonLimits& limits = {});

// The same as parse_outside(), but null for a text that is rejected.
nlohmann::json json_or_null(std::string_view text);

// Returns an object's string member, printable and in one line. Empty: no such string.
std::string line_member(const nlohmann::json& object, const char* key);

}  // namespace evolve
