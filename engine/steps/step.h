// Shared parts of the step programs: the command line, and reading and writing files.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/result.h"
#include "engine/steps/command_line.h"
#include "engine/world/files.h"

namespace evolve::steps {

// Reads the JSON in a file. JSON that core/outside_json.h does not accept is an external error.
inline Result<nlohmann::json> read_json(const std::string& path) {
  TRY_ASSIGN(auto text, world::read_file(path));
  auto value = parse_outside(text);
  if (!value) return external(fmt::format("{}: {}", path, value.error().message));
  return value;
}

// Writes JSON in the form that every step uses: sorted keys, two blanks, a newline at the end.
inline Status write_json(const std::string& path, const nlohmann::json& value) {
  return world::write_file_atomic(path, json_block(value) + "\n");
}

}  // namespace evolve::steps
