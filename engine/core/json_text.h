// JSON values as text. No other code writes JSON (tests/unit/layers_test.cc), because the library's
// writer throws on text that is not UTF-8, and takes seconds to compile in each file that uses it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evolve {

// Writes a value in one line, without spaces and without a line's end. Bytes that are not UTF-8
// become U+FFFD. The members of an object are in the order of their names; those of an
// ordered_json keep their own order.
std::string json_line(const nlohmann::json& value);
std::string json_line(const nlohmann::ordered_json& value);

// The same, but with a line for each value, indented by `indent` spaces for each level.
std::string json_block(const nlohmann::json& value, int indent = 2);
std::string json_block(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace evolve
