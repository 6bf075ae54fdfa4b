// `evolve`: reads the command line, runs the command, and chooses the exit code.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/ninja/ninja.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

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

int run(int argc, char** argv) {
  if (auto arguments = ninja_arguments(argc, argv)) return run_ninja(*arguments);
  Commands commands;
  const auto answer = commands.parse(std::vector<std::string>(argv + 1, argv + argc));
  if (answer && *answer) {
    print_out(**answer);
    return 0;
  }
  const Status status = answer ? commands.run() : Status(answer.error());
  if (status) return 0;
  print_error(status.error(), answer ? commands.common().color : wants_color("auto"));
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
