// What a command answers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"

namespace evolve {

struct Answer {
  nlohmann::json report;
  std::string text;  // the same for people
  // Why the command fails though it has an answer; nullopt: it does not.
  std::optional<Error> failure = std::nullopt;
};

}  // namespace evolve
