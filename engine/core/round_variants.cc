// What the variants of a campaign are called, and where they are.
#include <fmt/format.h>

#include "engine/core/round.h"

namespace evolve {

std::string variant_id(int number) {
  return fmt::format("v{:04}", number);
}

std::optional<int> variant_number(std::string_view id) {
  // Shorter ids are padded, and no campaign has as many variants as longer ones would number.
  constexpr size_t kLeast = 5, kMost = 9;
  const bool is_id = id.size() >= kLeast && id.size() <= kMost && id.front() == 'v' &&
                     id.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!is_id) return std::nullopt;
  return std::stoi(std::string(id.substr(1)));
}

int round_of(const CampaignShape& shape, int number) {
  return number == 0 ? 0 : (number - 1) / shape.variants + 1;
}

std::vector<std::string> variants_of_round(const CampaignShape& shape, int round) {
  if (round == 0) return {variant_id(0)};
  std::vector<std::string> out;
  out.reserve(static_cast<size_t>(shape.variants));
  for (int i = 0; i < shape.variants; ++i) {
    out.push_back(variant_id((round - 1) * shape.variants + 1 + i));
  }
  return out;
}

std::string variant_folder(const CampaignShape& shape, int number) {
  return fmt::format("round-{}/{}", round_of(shape, number), variant_id(number));
}

}  // namespace evolve
