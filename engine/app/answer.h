// A command's answer, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/core/result.h"

namespace evolve {

struct Answer {
  nlohmann::json report;
  std::string text;  // the answer in words, for people
  // Why the command fails although it has an answer; nullopt: the command succeeds.
  std::optional<Error> failure = std::nullopt;
};

}  // namespace evolve
