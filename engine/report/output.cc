#include "engine/report/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/core/json_text.h"
#include "engine/core/text/plain_text.h"

namespace evolve {

namespace {

// The first error of writing to stdout, or 0.
std::atomic<int> out_errno{0};

// Returns 0 or the error of the system.
int print(std::FILE* file, const std::string& text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fflush(file) == 0 && is_written ? 0 : errno;
}

void print_stdout(const std::string& text) {
  int none = 0;
  out_errno.compare_exchange_strong(none, print(stdout, text));
}

const char* text_of(Lead lead) {
  switch (lead) {
    case Lead::none: return "";
    case Lead::rewind: return "\r\x1b[K";
    case Lead::error: return "evolve: \x1b[31merror:\x1b[0m ";
    case Lead::warning: return "evolve: \x1b[33mwarning:\x1b[0m ";
  }
  return "";
}

}  // namespace

void print_out(const std::string& text) {
  print_stdout(plain_text(text));
}

void print_err(const std::string& text) {
  print_err(Lead::none, text);
}

void print_err(Lead lead, const std::string& text) {
  print(stderr, text_of(lead) + plain_text(text));
}

void print_file(const std::string& bytes) {
  print_stdout(::isatty(STDOUT_FILENO) != 0 ? plain_text(bytes) : bytes);
}

Status end_out() {
  print_stdout("");
  if (out_errno == 0 && std::ferror(stdout) == 0) return {};
  return external(fmt::format("standard output: cannot be written{}",
                              out_errno == 0 ? "" : fmt::format(": {}", std::strerror(out_errno))));
}

void print_error(const Error& error, bool color) {
  std::string text = fmt::format("{}{}\n", color ? "" : "evolve: error: ", error.message);
  if (!error.detail.empty()) text += error.detail + "\n";
  if (!error.hint.empty()) text += fmt::format("hint: {}\n", error.hint);
  print_err(color ? Lead::error : Lead::none, text);
}

void print_warning(const std::string& message, bool color) {
  print_err(color ? Lead::warning : Lead::none,
            fmt::format("{}{}\n", color ? "" : "evolve: warning: ", message));
}

void print_result(bool is_json, const nlohmann::json& report, const std::string& text) {
  print_out(is_json ? json_block(report) + "\n" : text);
}

}  // namespace evolve
