// Ninja's four kinds of message, and its limit for suggestions of names.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "engine/core/result.h"

namespace evolve::ninja {

// The maximum number of edits between a name and a suggested name, as in Ninja.
constexpr size_t kNinjaEdits = 3;

// Prints a message after all earlier output, even if stdout and stderr are the same file.
inline void print_to_stderr(const char* kind, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "ninja: {}: {}\n", kind, message);
}
inline void print_error(const std::string& message) {
  print_to_stderr("error", message);
}
// Prints the error that ends a tool, and returns the tool's exit code.
inline int print_failure(const Error& error) {
  print_error(error.message);
  return 1;
}
inline void print_warning(const std::string& message) {
  print_to_stderr("warning", message);
}
inline void print_info(const std::string& message) {
  fmt::print("ninja: {}\n", message);
}
// Returns an error's message with its excerpt. Ninja shows no excerpt for an error in a line's
// first column, but it still ends the line.
inline std::string text_of(const Error& error) {
  if (!error.is_located) return error.message;
  const bool has_excerpt = error.detail.find("\n^ near here") == std::string::npos;
  return fmt::format("{}\n{}", error.message, has_excerpt ? error.detail : "");
}
// Prints a tool's usage.
inline void print_plain(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}
inline void explain_dyndep(const std::string& path) {
  fmt::print(stderr, "ninja explain: loading dyndep file '{}'\n", path);
}
// Prints the message and returns the exit code.
inline int print_fatal(const std::string& message) {
  print_to_stderr("fatal", message);
  return 1;
}

}  // namespace evolve::ninja
