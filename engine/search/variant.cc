#include "engine/search/variant.h"

#include <nlohmann/json.hpp>

namespace evolve {

std::string VariantId::text() const {
  return fmt::format("v{:04}", number_);
}

void to_json(nlohmann::json& out, const VariantId& id) {
  out = id.text();
}

}  // namespace evolve
