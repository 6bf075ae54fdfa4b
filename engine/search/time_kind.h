// The two kinds of times, which are never ranked together.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

namespace evolve {

enum class TimeKind {
  modelled,  // what the model says of the compiled program
  measured,  // on a device
};

// Returns "modelled" or "measured". The names are stored: never change them.
constexpr const char* to_string(TimeKind kind) {
  return kind == TimeKind::modelled ? "modelled" : "measured";
}

// Nullopt: the text names no kind.
constexpr std::optional<TimeKind> parse_time_kind(std::string_view text) {
  for (const TimeKind kind : {TimeKind::modelled, TimeKind::measured}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace evolve
