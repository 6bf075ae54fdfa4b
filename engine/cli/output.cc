#include "engine/cli/output.h"

#include <unistd.h>

#include <cstdio>

#include "engine/core/plain_text.h"

namespace evolve::cli {

namespace {

void print(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
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
  print(stdout, plain_text(text));
}

void print_err(const std::string& text) {
  print_err(Lead::none, text);
}

void print_err(Lead lead, const std::string& text) {
  print(stderr, text_of(lead) + plain_text(text));
}

void print_file(const std::string& bytes) {
  print(stdout, ::isatty(STDOUT_FILENO) != 0 ? plain_text(bytes) : bytes);
}

}  // namespace evolve::cli
