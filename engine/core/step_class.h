// What a step's result is worth on another run.
#pragma once

#include <optional>
#include <string_view>

namespace evolve {

// What kind of truth a step's result is.
enum class StepClass {
  pure,  // another run under the same key gives the same bytes
  // Of a device, and another run gives other numbers. Its edge names them in `device_kind` and
  // `protocol`, which are part of its key.
  measured,
  recorded,  // of a person or a language model, and cannot be had again
};

// "pure", "measured", "recorded". Stored: never change.
const char* class_name(StepClass step_class);
std::optional<StepClass> class_from(std::string_view name);

}  // namespace evolve
