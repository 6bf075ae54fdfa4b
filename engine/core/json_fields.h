// One list of a struct's fields, from which the struct is written as JSON and read again:
//
//   template <class Fields, Is<Prize> T>
//   void list_fields(Fields& fields, T& one) {
//     fields("what", one.what);
//     fields("share", one.share);
//   }
//
// The list is in the namespace of its struct. A field is a number, a bool, a text, or another
// struct with such a list. A field may also be a vector, an array, or a map by name of these types.
#pragma once

#include <array>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/core/json_read.h"

namespace evolve {

// T is U or const U.
template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// Writes the fields of a struct.
class FieldWriter {
 public:
  template <class T>
  void operator()(const char* key, const T& field) {
    out[key] = json_of(field);
  }
  // Writes null for a field that has no value.
  template <class T>
  void or_null(const char* key, const std::optional<T>& field) {
    out[key] = field ? json_of(*field) : nlohmann::json();
  }
  // Leaves out a field that has no value.
  template <class T>
  void if_any(const char* key, const std::optional<T>& field) {
    if (field) out[key] = json_of(*field);
  }
  // Leaves out a field that is an empty text, list or map.
  template <class T>
  void if_filled(const char* key, const T& field) {
    if (!field.empty()) out[key] = json_of(field);
  }
  // Leaves out a field that is false.
  void if_true(const char* key, bool field) {
    if (field) out[key] = true;
  }
  // Writes each item of a list as a field of its own: "mxu0", "mxu1", …
  template <class T>
  void numbered(const std::string& key, const std::vector<T>& field) {
    for (size_t i = 0; i < field.size(); ++i) out[key + std::to_string(i)] = json_of(field[i]);
  }

  template <class T>
  static nlohmann::json json_of(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else {
      FieldWriter fields;
      list_fields(fields, value);
      return std::move(fields.out);
    }
  }
  template <class T>
  static nlohmann::json json_of(const std::vector<T>& list) {
    nlohmann::json out = nlohmann::json::array();
    for (const T& one : list) out.push_back(json_of(one));
    return out;
  }
  template <class T, size_t Size>
  static nlohmann::json json_of(const std::array<T, Size>& list) {
    nlohmann::json out = nlohmann::json::array();
    for (const T& one : list) out.push_back(json_of(one));
    return out;
  }
  template <class T>
  static nlohmann::json json_of(const std::map<std::string, T>& map) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [name, one] : map) out[name] = json_of(one);
    return out;
  }

  nlohmann::json out = nlohmann::json::object();
};

// Reads the fields of a struct. The status of the JsonReader shows whether all of them are valid.
class FieldReader {
 public:
  explicit FieldReader(const JsonReader& from) : from_(from) {}

  template <class T>
  void operator()(const char* key, T& field) {
    read(from_.at(key), field);
  }
  template <class T>
  void or_null(const char* key, std::optional<T>& field) {
    const JsonReader value = from_.at(key);
    if (!value.is_null()) read(value, field.emplace());
  }
  template <class T>
  void if_any(const char* key, std::optional<T>& field) {
    if (from_.has(key)) read(from_.at(key), field.emplace());
  }
  template <class T>
  void if_filled(const char* key, T& field) {
    if (from_.has(key)) read(from_.at(key), field);
  }
  void if_true(const char* key, bool& field) {
    if (from_.has(key)) read(from_.at(key), field);
  }
  template <class T>
  void numbered(const std::string& key, std::vector<T>& field) {
    for (std::string one = key + "0"; from_.has(one); one = key + std::to_string(field.size()))
      read(from_.at(one), field.emplace_back());
  }

  static void read(const JsonReader& from, double& value) { value = from.number(); }
  static void read(const JsonReader& from, uint64_t& value) { value = from.count(); }
  static void read(const JsonReader& from, uint32_t& value) {
    value = static_cast<uint32_t>(from.count(UINT32_MAX));
  }
  static void read(const JsonReader& from, bool& value) { value = from.flag(); }
  static void read(const JsonReader& from, std::string& value) { value = from.text(); }
  template <class T>
  static void read(const JsonReader& from, std::vector<T>& list) {
    for (const JsonReader& one : from.items()) read(one, list.emplace_back());
  }
  template <class T, size_t Size>
  static void read(const JsonReader& from, std::array<T, Size>& list) {
    const auto items = from.items();
    if (items.size() != Size) return from.note(fmt::format("it must have {} items", Size));
    for (size_t i = 0; i < Size; ++i) read(items[i], list[i]);
  }
  template <class T>
  static void read(const JsonReader& from, std::map<std::string, T>& map) {
    for (const auto& [name, one] : from.members()) read(one, map[name]);
  }
  template <class T>
  requires std::is_class_v<T>
  static void read(const JsonReader& from, T& value) {
    FieldReader fields(from);
    list_fields(fields, value);
  }

 private:
  const JsonReader& from_;
};

}  // namespace evolve
