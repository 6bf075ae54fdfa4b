// `evolve ninja`, for --help only: the command has a command line of its own (main.cc).
#include "engine/cli/commands.h"

namespace evolve::cli {

void add_ninja(Commands& commands) {
  commands.add("ninja", "build any Ninja manifest (options: evolve ninja -h)");
}

}  // namespace evolve::cli
