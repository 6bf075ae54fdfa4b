#include "engine/search/variant.h"

#include <fmt/format.h>

namespace evolve {

std::string variant_id(int number) {
  return fmt::format("v{:04}", number);
}

std::optional<int> variant_number(std::string_view id) {
  // Shorter ids are padded. No campaign has enough variants for longer ids.
  constexpr size_t kLeast = 5, kMost = 9;
  const bool is_id = id.size() >= kLeast && id.size() <= kMost && id.front() == 'v' &&
                     id.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!is_id) return std::nullopt;
  return std::stoi(std::string(id.substr(1)));
}

}  // namespace evolve
