// Members of JSON from outside. A member that is missing or of another type is read as empty or 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/member.h"

namespace evolve::llm {

inline std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
inline std::string text_at(const nlohmann::json& object, const char* key) {
  return text_of(search::member(object, key));
}

// The list itself, or an empty one.
inline const nlohmann::json& list_at(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNone = nlohmann::json::array();
  const nlohmann::json& value = search::member(object, key);
  return value.is_array() ? value : kNone;
}

// The texts of a list; other items are skipped.
inline std::vector<std::string> texts_at(const nlohmann::json& object, const char* key) {
  std::vector<std::string> out;
  for (const nlohmann::json& one : list_at(object, key)) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

// A finite number of at least 0. Nullopt: the member is no such number.
inline std::optional<double> amount_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = search::member(object, key);
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0) return std::nullopt;
  return number;
}

// A number of at least 0, rounded down to a whole one, and at most 10^12.
inline int64_t count_at(const nlohmann::json& object, const char* key) {
  constexpr double kMost = 1e12;
  return static_cast<int64_t>(std::min(amount_at(object, key).value_or(0), kMost));
}

}  // namespace evolve::llm
