// What the values of a spec's inputs may be: the keys `range`, `sum`, `are` and `values` of an
// input.
#pragma once

#include <string>
#include <vector>

#include "engine/campaign/spec.h"
#include "engine/core/yaml/yaml_source.h"

namespace evolve {

// Notes an error where the text of `item` is no formula over the dimensions.
void check_formula(const YamlNode& item, const std::vector<std::string>& dimensions,
                   YamlErrors& errors);

// Reads what `map`, the input `input` in the text, says of its values. An input of whole numbers
// has to say its range: of any other values drawn for it, nobody knows what they mean. `before`:
// the inputs that stand before it, which its formula may name.
void read_input_values(YamlMap& map, const YamlNode& node,
                       const std::vector<std::string>& dimensions,
                       const std::vector<Tensor>& before, Tensor& input, YamlErrors& errors);

// Notes an error at `at` where a case has no values that are within what an input says.
void check_input_values(const Case& one, const Tensor& input, Position at, YamlErrors& errors);

}  // namespace evolve
