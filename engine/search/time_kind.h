// The two kinds of times, which are never ranked together.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

namespace evolve {

enum class TimeKind {
  modelled,  // computed by the model from the compiled program
  measured,  // on a device
};

// Returns "modelled" or "measured". The names are stored: never change them.
constexpr const char* to_string(TimeKind kind) {
  return kind == TimeKind::modelled ? "modelled" : "measured";
}

// Returns the kind that the text names. Nullopt: no kind has this name.
constexpr std::optional<TimeKind> parse_time_kind(std::string_view text) {
  for (const TimeKind kind : {TimeKind::modelled, TimeKind::measured}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace evolve
