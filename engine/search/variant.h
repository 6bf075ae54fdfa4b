// The ids of variants.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace evolve {

// The id of a variant, written "v0007". The numbers run through the whole campaign. The seed is
// v0000.
class VariantId {
 public:
  constexpr VariantId() = default;  // the seed's
  // REQUIRES: 0 <= number < 10^8.
  constexpr explicit VariantId(int number) : number_(number) {}
  // Takes a literal. A literal that is not an id does not compile.
  consteval VariantId(const char* literal)  // NOLINT(google-explicit-constructor)
      : number_(parse(literal).value().number_) {}

  // Reads an id. Nullopt: the text is not an id. An id has only the spelling that text() returns,
  // so "v00007" is not an id.
  static constexpr std::optional<VariantId> parse(std::string_view text) {
    // An id has four to eight digits: shorter numbers are padded, and no campaign has longer ones.
    constexpr size_t kLeast = 5, kMost = 9;
    const bool has_form = text.size() >= kLeast && text.size() <= kMost && text.front() == 'v' &&
                          (text.size() == kLeast || text[1] != '0');
    if (!has_form) return std::nullopt;
    int number = 0;
    for (const char c : text.substr(1)) {
      if (c < '0' || c > '9') return std::nullopt;
      number = 10 * number + (c - '0');
    }
    return VariantId(number);
  }

  [[nodiscard]] constexpr int number() const { return number_; }
  [[nodiscard]] std::string text() const;

  // An id is less than another id if its variant was made earlier.
  friend constexpr bool operator<(VariantId id, VariantId other) {
    return id.number_ < other.number_;
  }
  friend constexpr bool operator>=(VariantId id, VariantId other) { return !(id < other); }
  friend constexpr bool operator==(VariantId id, VariantId other) {
    return id.number_ == other.number_;
  }

 private:
  int number_ = 0;
};

// Writes the id as a text.
void to_json(nlohmann::json& out, const VariantId& id);

}  // namespace evolve

template <>
struct std::hash<evolve::VariantId> {
  size_t operator()(const evolve::VariantId& id) const noexcept {
    return std::hash<int>()(id.number());
  }
};

template <>
struct fmt::formatter<evolve::VariantId> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const evolve::VariantId& id, Context& context) const {
    return fmt::formatter<std::string>::format(id.text(), context);
  }
};
