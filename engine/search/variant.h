// The ids of variants.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evolve {

// "v0007": variants count through the campaign, the seed is v0000.
std::string variant_id(int number);
// The number of an id. Nullopt: the text is no id.
std::optional<int> variant_number(std::string_view id);

}  // namespace evolve
