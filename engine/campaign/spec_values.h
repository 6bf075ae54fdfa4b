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

// Reads the keys of `map`, an input in the text, that say which values it may have. An input of
// whole numbers must state its range or its formula, because nobody knows the meaning of other
// drawn values. `before`: the inputs before this one, which its formula may name.
void read_input_values(YamlMap& map, const YamlNode& node,
                       const std::vector<std::string>& dimensions,
                       const std::vector<Tensor>& before, Tensor& input, YamlErrors& errors);

// Reports an error at `at` if no values of a case meet what an input states.
void check_input_values(const Case& one, const Tensor& input, Position at, YamlErrors& errors);

}  // namespace evolve
