// The command line of `evolve ninja` and of a binary called `ninja`: Ninja's own, letter by letter.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/graph/extensions.h"

namespace evolve::ninja {

enum class Verbosity {
  quiet,    // --quiet: the commands' output alone
  normal,   // one line of status
  verbose,  // -v: whole command lines
};

struct Options {
  std::string manifest = "build.ninja";  // -f
  std::string folder;                    // -C
  int jobs = 1;                          // -j; the default is set from the machine
  bool is_jobs_given = false;            // then no jobserver is asked
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
  bool by_times = false;               // --mtime, which is ours
  std::string trace;                   // --trace, which is ours: a file
  Resources resources;                 // --resource, which is ours
  std::string remote_cache;            // --remote-cache, which is ours: an address
  bool remote_write = false;           // --remote-write, which is ours
  int remote_timeout = 10;             // --remote-timeout, which is ours: seconds
  bool is_phony_cycle_error = false;   // -w phonycycle=err
  std::string tool;                    // -t
  std::vector<std::string> arguments;  // targets, or what belongs to the tool
};

// Ninja's default for -j: some more than there are cores, so that none waits for the disk.
int default_jobs(int cores);

// Reads a command line (`arguments` without the program's name). An exit code where there is
// nothing more to do: help, version, a list, a usage error; all of it was printed then.
std::variant<Options, int> parse_options(const std::vector<std::string>& arguments, int cores);

}  // namespace evolve::ninja
