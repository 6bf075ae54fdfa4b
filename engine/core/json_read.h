// Two ways to read JSON that others wrote. For a value that is missing or has another type, the
// functions return an empty value, so they never fail. A JsonReader rejects such a value and
// reports its place.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Returns a member of an object. Null: the member is missing, or `object` is not an object.
inline const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

// Returns the value at a place like "/status/phase" ('/' in a name is "~1", RFC 6901). Null: the
// value, or anything on the way, is missing.
inline const nlohmann::json& at_place(const nlohmann::json& object, std::string_view place) {
  static const nlohmann::json kNull;
  const nlohmann::json::json_pointer pointer{std::string(place)};
  return object.contains(pointer) ? object.at(pointer) : kNull;
}

inline std::string text_in(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
inline std::string text_at(const nlohmann::json& object, std::string_view key) {
  return text_in(member(object, key));
}
inline std::string text_at_place(const nlohmann::json& object, std::string_view place) {
  return text_in(at_place(object, place));
}

// Returns the number; 0: the value is not a number.
inline double number_in(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : 0;
}
// Returns the number of a member. Nullopt: the member is not a number.
inline std::optional<double> number_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = member(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// Returns a member that is a finite number of at least 0. Nullopt: the member has another value.
inline std::optional<double> amount_at(const nlohmann::json& object, std::string_view key) {
  const auto number = number_at(object, key);
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

// Returns a member as a whole number from 0 to 10^12. A fraction is rounded down, and a greater
// number becomes 10^12. 0: the member is not a finite number of at least 0.
inline int64_t count_at(const nlohmann::json& object, std::string_view key) {
  constexpr double kMost = 1e12;
  return static_cast<int64_t>(std::min(amount_at(object, key).value_or(0), kMost));
}

// Returns the member if it is a list, or else an empty list.
inline const nlohmann::json& list_at(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json kNone = nlohmann::json::array();
  const nlohmann::json& value = member(object, key);
  return value.is_array() ? value : kNone;
}

// Returns the texts of a list. Other items are skipped.
inline std::vector<std::string> texts_at(const nlohmann::json& object, std::string_view key) {
  std::vector<std::string> out;
  for (const nlohmann::json& one : list_at(object, key)) {
    if (one.is_string()) out.push_back(one.get<std::string>());
  }
  return out;
}

// A value of a document, with its path. A getter returns an empty value if the value is of another
// type. The readers of a document keep its first problem. So a caller reads all values and then
// asks for the status.
class JsonReader {
 public:
  // REQUIRES: the document lives longer than its readers.
  explicit JsonReader(const nlohmann::json& document)
      : value_(&document), problem_(std::make_shared<std::optional<Error>>()) {}

  // Returns a member. A missing member is a problem.
  [[nodiscard]] JsonReader at(const std::string& key) const {
    const std::string path = path_to(key);
    if (check(value_->is_object(), "an object") && !has(key)) note(path, "it is missing");
    return {member(*value_, key), path, problem_};
  }
  [[nodiscard]] bool has(const std::string& key) const {
    return value_->is_object() && value_->contains(key);
  }
  [[nodiscard]] bool is_null() const { return value_->is_null(); }

  [[nodiscard]] std::string text() const {
    return check(value_->is_string(), "a text") ? value_->get<std::string>() : std::string();
  }
  [[nodiscard]] bool flag() const {
    return check(value_->is_boolean(), "true or false") && value_->get<bool>();
  }
  // Returns a number. JSON has null for a number that is not finite, so null is read as NaN.
  [[nodiscard]] double number() const {
    if (value_->is_null() && !*problem_) return std::numeric_limits<double>::quiet_NaN();
    return check(value_->is_number(), "a number") ? value_->get<double>() : 0;
  }
  // Returns a whole number, 0 to `most`.
  [[nodiscard]] uint64_t count(uint64_t most = UINT64_MAX) const {
    const bool is_whole = value_->is_number_unsigned() ||
                          (value_->is_number_integer() && value_->get<int64_t>() >= 0);
    const bool is_one = check(is_whole && value_->get<uint64_t>() <= most,
                              most == UINT64_MAX ? std::string("a whole number of at least 0")
                                                 : fmt::format("a whole number, 0 to {}", most));
    return is_one ? value_->get<uint64_t>() : 0;
  }
  // Returns the items of a list.
  [[nodiscard]] std::vector<JsonReader> items() const {
    std::vector<JsonReader> out;
    if (!check(value_->is_array(), "a list")) return out;
    for (const nlohmann::json& one : *value_)
      out.push_back({one, fmt::format("{}[{}]", path_, out.size()), problem_});
    return out;
  }
  // Returns the members of an object with their names.
  [[nodiscard]] std::vector<std::pair<std::string, JsonReader>> members() const {
    std::vector<std::pair<std::string, JsonReader>> out;
    if (!check(value_->is_object(), "an object")) return out;
    for (const auto& [key, one] : value_->items())
      out.emplace_back(key, JsonReader(one, path_to(key), problem_));
    return out;
  }

  // Keeps a problem of this value, if it is the document's first.
  void note(const std::string& problem) const { note(path_, problem); }
  // Returns the first problem, such as "kernels[0].name: it must be a text, and it is a number".
  [[nodiscard]] Status status() const { return *problem_ ? Status(**problem_) : Status(); }

 private:
  JsonReader(const nlohmann::json& value, std::string path,
             std::shared_ptr<std::optional<Error>> problem)
      : value_(&value), path_(std::move(path)), problem_(std::move(problem)) {}

  [[nodiscard]] std::string path_to(const std::string& key) const {
    return path_.empty() ? key : fmt::format("{}.{}", path_, key);
  }
  void note(const std::string& path, const std::string& problem) const {
    if (!*problem_) *problem_ = bad_input(path.empty() ? problem : path + ": " + problem);
  }
  bool check(bool is_right, const std::string& what) const {
    if (!is_right) note(fmt::format("it must be {}, and it is {}", what, type_words()));
    return is_right;
  }
  [[nodiscard]] std::string type_words() const {
    switch (value_->type()) {
      case nlohmann::json::value_t::null: return "null";
      case nlohmann::json::value_t::object: return "an object";
      case nlohmann::json::value_t::array: return "a list";
      case nlohmann::json::value_t::string: return "a text";
      default: return value_->dump();
    }
  }

  const nlohmann::json* value_;
  std::string path_;  // "kernels[0].name"; empty: the document
  std::shared_ptr<std::optional<Error>> problem_;
};

}  // namespace evolve
