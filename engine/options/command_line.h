// The command line of a program: its options, its commands, and their help. Only command_line.cc
// includes CLI11, because its headers take ten times as long to compile as the code that declares
// the options.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/options/description.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has it so
class App;
class Option;
}  // namespace CLI

namespace evolve::options {

struct Tree;

// A declared option, for adding conditions to it. Must not outlive the command line that it was
// added to.
class Option {
 public:
  Option(Tree* tree, CLI::Option* option) : tree_(tree), option_(option) {}

  Option required();
  Option at_least(double least);
  Option above(double bound);
  Option between(double least, double most);
  Option one_of(const std::vector<std::string>& words);
  // Says what the value names, such as "round". The kind helps only to complete words.
  Option names(const std::string& kind);
  // Takes a list in one word, with commas between the items.
  Option separated();
  // May be given several times, with one value each time.
  Option repeated();
  // Takes exactly `count` values.
  Option values(int count);
  // Takes no value or one value.
  Option zero_or_one();
  // If the option is not given, its value is that of the environment variable `name`.
  Option from_environment(const std::string& name);
  Option needs(Option other);
  Option excludes(Option other);

 private:
  Tree* tree_;
  CLI::Option* option_;
};

// The options and commands of a program, or of one of its commands. A handle, which must not
// outlive the command line that it belongs to.
class Parser {
 public:
  Parser(Tree* tree, CLI::App* app) : tree_(tree), app_(app) {}

  // Declares `--NAME VALUE`, `--NAME` for a bool, or the values without a name for "NAME". Parsing
  // puts the value into `value`. T is std::string, int, int64_t, size_t, double, bool, or
  // std::optional<std::string>, or a list of std::string or size_t.
  template <typename T>
  Option add(const std::string& names, T& value, const std::string& help = "");
  // Declares a flag that puts false into `value`.
  Option add_off(const std::string& names, bool& value, const std::string& help = "");

  // Declares an option whose word is given to `take`. If `take` fails, parsing fails.
  using Take = std::function<Status(const std::string&)>;
  Option add_word(const std::string& names, const Take& take, const std::string& help = "");
  // Declares an option with several words. Each of them is given to `take`.
  Option add_words(const std::string& names, const Take& take, const std::string& help = "");

  // Declares a command of the program, or of this command.
  Parser add_command(const std::string& name, const std::string& help);
  // Makes the user name one of the commands.
  void require_command();
  [[nodiscard]] std::vector<Parser> commands() const;

  // Leaves this command out of the help, the manual and the completion.
  void hide();

  // Sets what CommandLine::run() does if this is the last command that the user names.
  void set_action(std::function<Status()> action);

 private:
  Tree* tree_;
  CLI::App* app_;
};

class CommandLine : public Parser {
 public:
  // `version`: what --version prints; empty: there is no --version.
  CommandLine(const std::string& name, const std::string& description,
              const std::string& version = "");
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] const std::string& name() const;
  // Returns the table of all commands and options.
  [[nodiscard]] CommandInfo describe() const;

  // Parses the words after the program's name. "help WORD…" is "WORD… --help". Returns the text to
  // print if the user asked for help or for the version, and nullopt otherwise. Bad input: the
  // words are not as declared; the message names the word, and what is most like it.
  [[nodiscard]] Result<std::optional<std::string>> parse(const std::vector<std::string>& words);
  // Does the action of the last command that the user named. REQUIRES: parse() returned nullopt.
  [[nodiscard]] Status run() const;

 private:
  explicit CommandLine(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> owned_;
};

}  // namespace evolve::options
