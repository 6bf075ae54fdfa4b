#include "engine/core/step_class.h"

namespace evolve {

const char* class_name(StepClass step_class) {
  switch (step_class) {
    case StepClass::pure: return "pure";
    case StepClass::measured: return "measured";
    case StepClass::recorded: return "recorded";
  }
  return "";
}

std::optional<StepClass> class_from(std::string_view name) {
  for (StepClass one : {StepClass::pure, StepClass::measured, StepClass::recorded}) {
    if (name == class_name(one)) return one;
  }
  return std::nullopt;
}

}  // namespace evolve
