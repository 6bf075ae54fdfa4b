// Reading records that others wrote: nothing is taken to be there.
#pragma once

#include <nlohmann/json.hpp>

namespace evolve::search {

// The member of an object, or null: of what is no object, too.
inline const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

}  // namespace evolve::search
