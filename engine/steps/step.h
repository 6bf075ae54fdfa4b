// What the step programs share: reading and writing their files, and ending as a step must: exit 0
// for any verdict, else one line on stderr and the exit code of the error's class.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/result.h"
#include "engine/world/files.h"

namespace evolve::steps {

// The JSON in a file; what is no JSON is an external error.
inline Result<nlohmann::json> read_json(const std::string& path) {
  auto text = world::read_file(path);
  if (!text) return std::move(text).error();
  auto value = nlohmann::json::parse(*text, nullptr, false);
  if (value.is_discarded()) return external(fmt::format("{}: not JSON", path));
  return value;
}

// Writes JSON as every step writes it: sorted keys, two blanks, a newline at the end.
inline Status write_json(const std::string& path, const nlohmann::json& value) {
  return world::write_file_atomic(
      path, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// Parses the arguments, runs the step, and returns the process's exit code.
template <typename Run>
int run_step(CLI::App& app, int argc, char** argv, Run run) {
  try {
    app.parse(argc, argv);
    Status status = run();
    if (status) return 0;
    fmt::print(stderr, "{}: {}\n", app.get_name(), status.error().message);
    if (!status.error().detail.empty()) fmt::print(stderr, "{}\n", status.error().detail);
    if (!status.error().hint.empty()) fmt::print(stderr, "hint: {}\n", status.error().hint);
    return exit_code(status.error().code);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? 0 : exit_code(ErrorCode::bad_input);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: internal error: {}\n", app.get_name(), error.what());
    return exit_code(ErrorCode::internal);
  }
}

}  // namespace evolve::steps
