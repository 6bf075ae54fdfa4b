// Classes of steps: whether another run of a step gives the same result.
#pragma once

#include <optional>
#include <string_view>

namespace evolve {

// The class of a step: the effect of another run of the step.
enum class StepClass {
  pure,  // another run under the same key gives the same bytes
  // Measured on a device: another run gives other numbers. The step's edge names the device and the
  // protocol in `device_kind` and `protocol`, which are part of its key.
  measured,
  recorded,  // from a person or a language model; cannot be repeated
};

// Returns "pure", "measured" or "recorded". The names are stored, so they must never change.
const char* class_name(StepClass step_class);
std::optional<StepClass> class_from(std::string_view name);

}  // namespace evolve
