// The command line of `evolve ninja` and of a binary called `ninja`: Ninja's own, and more options.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/graph/extensions.h"

namespace evolve::ninja {

enum class Verbosity {
  quiet,    // --quiet: only the commands' output
  normal,   // one line of status
  verbose,  // -v: whole command lines
};

struct Options {
  std::string manifest = "build.ninja";  // -f
  std::string folder;                    // -C
  int jobs = 1;                          // -j; the default is set from the machine
  bool is_jobs_given = false;            // true: a jobserver is not used
  int keep_going = 1;                    // -k: stop after this many failures; 0: never
  double max_load = 0;                   // -l; 0: no limit
  bool dry_run = false;                  // -n
  Verbosity verbosity = Verbosity::normal;
  std::string status_format;  // --status
  bool has_status_format = false;
  bool explain = false;  // -d …
  bool stats = false;
  bool keep_depfile = false;
  bool keep_rsp = false;
  bool by_times = false;               // --mtime, evolve's own
  std::string trace;                   // --trace, evolve's own: a file
  Resources resources;                 // --resource, evolve's own
  std::string remote_cache;            // --remote-cache, evolve's own: an address
  bool remote_write = false;           // --remote-write, evolve's own
  int remote_timeout = 10;             // --remote-timeout, evolve's own: seconds
  bool is_phony_cycle_error = false;   // -w phonycycle=err
  std::string tool;                    // -t
  std::vector<std::string> arguments;  // targets, or the tool's arguments
};

// Returns Ninja's default for -j: somewhat more than the cores, so that no core waits for the disk.
int default_jobs(int cores);

// Reads a command line (`arguments` without the program's name). Returns an exit code if the
// program must end. Then the help, the version, a list or a usage error was already printed.
std::variant<Options, int> parse_options(const std::vector<std::string>& arguments, int cores);

}  // namespace evolve::ninja
