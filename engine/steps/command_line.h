// A step's command line. CLI11 reads it, in command_line.cc alone: its headers take a compiler as
// long as a step's own code five times over, and there is a program for each step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has it so
class App;
class Option;
}  // namespace CLI

namespace evolve::steps {

// An option that was declared, to say more of it; of the command line that it was added to.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option at_least(double least);
  Option above(double bound);
  Option between(double least, double most);
  Option one_of(const std::vector<std::string>& words);
  // A list in one word, with commas between.
  Option separated();
  Option needs(Option other);
  Option excludes(Option other);

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Declares `--NAME VALUE`, or for a bool `--NAME`, that is put into `value` by run(). Of
  // std::string, int, size_t, double, bool, and lists of std::string and size_t.
  template <typename T>
  Option add(const std::string& name, T& value, const std::string& help = "");

  // Parses the arguments, runs the step, and returns the process's exit code: 0 for any verdict,
  // else after a message on stderr that of the error's class.
  int run(int argc, char** argv, const std::function<Status()>& step);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace evolve::steps
