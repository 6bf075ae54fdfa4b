// The command line of a step. Only command_line.cc includes CLI11, because its headers take five
// times as long to compile as a step's own code, and each step is a program of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/variant.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has it so
class App;
class Option;
}  // namespace CLI

namespace evolve::steps {

// A declared option, for adding conditions to it. Must not outlive the command line that it was
// added to.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option at_least(double least);
  Option above(double bound);
  Option between(double least, double most);
  Option one_of(const std::vector<std::string>& words);
  // Takes a list in one word, with commas between the items.
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

  // Declares `--NAME VALUE`, or `--NAME` for a bool; run() puts the value into `value`. T is
  // std::string, int, size_t, double, bool, VariantId, or a list of std::string, size_t or
  // VariantId.
  template <typename T>
  Option add(const std::string& name, T& value, const std::string& help = "");

  // Parses the arguments, runs the step and returns the process's exit code: 0 for any verdict. An
  // error is printed on stderr, and its class gives the exit code.
  int run(int argc, char** argv, const std::function<Status()>& step);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace evolve::steps
