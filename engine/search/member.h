// Access to records that others wrote, in which any member may be missing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evolve::search {

// The member of an object. Null: it is missing, or `object` is no object.
inline const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

// The text of a member. Empty: it is missing, or no text.
inline std::string text_member(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace evolve::search
