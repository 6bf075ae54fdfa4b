// `evolve`: reads the command line, runs the command, and chooses the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/cli/command_line.h"
#include "engine/cli/ninja/ninja.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

bool has_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

// Returns the commands that a command line named, each a subcommand of the command before.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    out.push_back(at);
  }
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

// Returns the error for a word that is not among `known`. `path` is the command whose help lists
// the known words.
Error unknown_word(std::string_view what, const std::string& word,
                   const std::vector<std::string>& known, const std::string& path) {
  const auto near = nearest(word, known);
  return bad_input(fmt::format("unknown {} '{}'{}", what, word,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", path + " --help");
}

// Returns a usage error in our own words, with the nearest command or option if a word is unknown.
Error usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto named = named_commands(app);
  const CLI::App& last = named.empty() ? app : *named.back();
  std::string path = "evolve";
  std::vector<std::string> options, known;
  for (const CLI::App* command : named) {
    path += " " + command->get_name();
    known.push_back(command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      for (const std::string& name : option->get_snames()) options.push_back("-" + name);
    }
  }
  const std::vector<std::string> commands = command_names(last);
  known.insert(known.end(), options.begin(), options.end());
  known.insert(known.end(), commands.begin(), commands.end());
  std::string message = error.what();
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    const bool is_named = has_word(message, word) || !commands.empty();
    const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
    if (!is_named || is_known) continue;
    const bool is_option = word.starts_with("-");
    return unknown_word(is_option ? "option" : "command", word, is_option ? options : commands,
                        path);
  }
  if (!message.empty())
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return bad_input(message, "", path + " --help");
}

// Returns the arguments for Ninja's command line, if the program is called `ninja` or its first
// argument is `ninja`; else nullopt.
std::optional<std::vector<std::string>> ninja_arguments(int argc, char** argv) {
  std::string name = argc > 0 ? argv[0] : "";
  if (name.substr(name.rfind('/') + 1) == "ninja") {
    return std::vector<std::string>(argv + 1, argv + argc);
  }
  if (argc > 1 && std::string_view(argv[1]) == "ninja") {
    return std::vector<std::string>(argv + 2, argv + argc);
  }
  return std::nullopt;
}

// Checks "evolve help WORD…": each word must be a subcommand of the word before.
Status check_help(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string path = "evolve";
  for (int i = 2; i < argc; ++i) {
    const std::vector<std::string> commands = command_names(*at);
    const std::string word = argv[i];
    if (commands.empty() || word.starts_with("-")) return {};
    if (std::find(commands.begin(), commands.end(), word) == commands.end())
      return unknown_word("command", word, commands, path);
    at = at->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

int run(int argc, char** argv) {
  if (auto arguments = ninja_arguments(argc, argv)) return run_ninja(*arguments);
  CommandLine line;
  CLI::App& app = line.app();
  // "evolve help round open" is "evolve round open --help".
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    if (auto status = check_help(app, argc, argv); !status) {
      print_error(status.error(), wants_color("auto"));
      return exit_code(status.error().code);
    }
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    Error usage = usage_error(app, error, argc, argv);
    print_error(usage, wants_color("auto"));
    return exit_code(usage.code);
  }
  Status status = line.run();
  if (status) return 0;
  print_error(status.error(), line.common().color);
  return exit_code(status.error().code);
}

// Flushes stdout, and returns the exit code. Output that cannot be written is an error.
int end_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const Error error =
      external(fmt::format("standard output: cannot be written{}",
                           errno == 0 ? "" : fmt::format(": {}", std::strerror(errno))));
  print_error(error, wants_color("auto"));
  return code != 0 ? code : exit_code(error.code);
}

}  // namespace

}  // namespace evolve::cli

int main(int argc, char** argv) {
  try {
    return evolve::cli::end_output(evolve::cli::run(argc, argv));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return evolve::cli::end_output(0);
    // Our own code throws nothing, so an exception means a bug, or that no memory is left.
    evolve::print_err(
        fmt::format("evolve: internal error: {}: please report this as a bug in evolve {}\n",
                    error.what(), EVOLVE_VERSION));
    return 70;
  }
}
