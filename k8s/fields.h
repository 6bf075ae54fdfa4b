// Fields of objects that others write: whatever the objects hold, reading cannot fail.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evolve::k8s {

// Returns the value at a place like "/status/phase" ('/' in a name is "~1", RFC 6901); null: it, or
// anything on the way, is missing.
inline const nlohmann::json& field(const nlohmann::json& object, const std::string& place) {
  static const nlohmann::json null;
  const nlohmann::json::json_pointer pointer(place);
  return object.contains(pointer) ? object.at(pointer) : null;
}

// Returns the text at a place; empty: no text is there.
inline std::string text_field(const nlohmann::json& object, const std::string& place) {
  const nlohmann::json& value = field(object, place);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace evolve::k8s
