// Names and folders of a campaign's variants.
#include <fmt/format.h>

#include "engine/campaign/generator/round.h"
#include "engine/search/variant.h"

namespace evolve {

int round_of(const CampaignShape& shape, int number) {
  return number == 0 ? 0 : (number - 1) / shape.variants() + 1;
}

std::vector<std::string> variants_of_round(const CampaignShape& shape, int round) {
  if (round == 0) return {VariantId(0).text()};
  std::vector<std::string> out;
  out.reserve(static_cast<size_t>(shape.variants()));
  for (int i = 0; i < shape.variants(); ++i) {
    out.push_back(VariantId((round - 1) * shape.variants() + 1 + i).text());
  }
  return out;
}

std::string variant_folder(const CampaignShape& shape, int number) {
  return fmt::format("round-{}/{}", round_of(shape, number), VariantId(number));
}

}  // namespace evolve
