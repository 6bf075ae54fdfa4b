// The values that a spec's inputs may have: the keys `range`, `sum`, `are` and `values` of an
// input.
#pragma once

#include <string>
#include <vector>

#include "engine/campaign/spec.h"
#include "engine/core/yaml/yaml_source.h"

namespace evolve {

// Reports an error if the text of `item` is not a formula over the dimensions.
void check_formula(const YamlNode& item, const std::vector<std::string>& dimensions,
                   YamlErrors& errors);

// Reads the keys that state which values an input may have. `map` is the input in the text. An
// input of whole numbers must state its range or its formula, because without them drawn values
// would have no meaning. `before`: the inputs before this one, which its formula may name.
void read_input_values(YamlMap& map, const YamlNode& node,
                       const std::vector<std::string>& dimensions,
                       const std::vector<Tensor>& before, Tensor& input, YamlErrors& errors);

// Reports an error at `at` if no values meet the conditions that a case sets for an input.
void check_input_values(const Case& one, const Tensor& input, Position at, YamlErrors& errors);

}  // namespace evolve
