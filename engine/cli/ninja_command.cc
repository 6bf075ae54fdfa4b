// `evolve ninja`, for --help only: the command has a command line of its own (main.cc).
#include "engine/cli/command_line.h"

namespace evolve::cli {

void add_ninja(CommandLine& line) {
  line.app().add_subcommand("ninja", "build any Ninja manifest (options: evolve ninja -h)");
}

}  // namespace evolve::cli
