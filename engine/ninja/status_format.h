// The format of a status line: $NINJA_STATUS ("[%f/%t] ") or --status ("[$finished/$total] ").
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve::ninja {

struct Counts {
  int started = 0;
  int finished = 0;
  int running = 0;
  int total = 0;
  double elapsed_seconds = 0;
  double command_seconds = 0;  // of the commands that finished
  int jobs = 1;                // commands at a time
};

class StatusFormat {
 public:
  // Reads --status if it was given, else NINJA_STATUS (`environment`; null: not set). Bad input: an
  // unknown placeholder or variable.
  static Result<StatusFormat> parse(const std::string* option, const char* environment);

  // Returns the whole line. With NINJA_STATUS the description comes last; with --status the format
  // has its own place for the description, or none.
  [[nodiscard]] std::string line(const Counts& counts, const std::string& description) const;

 private:
  struct Part {
    std::string text;  // literal text, if `placeholder` is NUL
    char placeholder = '\0';
  };

  std::vector<Part> parts_;
  bool appends_description_ = true;
};

}  // namespace evolve::ninja
