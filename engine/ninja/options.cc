#include "engine/ninja/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "engine/core/text/did_you_mean.h"
#include "engine/graph/manifest.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/tool_options.h"
#include "engine/ninja/tools.h"

namespace evolve::ninja {

namespace {

constexpr const char* kDebugModes =
    "debugging modes:\n"
    "  stats        print operation counts/timing info\n"
    "  explain      explain what caused a command to execute\n"
    "  keepdepfile  don't delete depfiles after they're read by ninja\n"
    "  keeprsp      don't delete @response files on success\n"
    "multiple modes can be enabled via -d FOO -d BAR\n";

constexpr const char* kWarnings =
    "warning flags:\n"
    "  phonycycle={err,warn}  phony build statement references itself\n";

void print_usage(int jobs) {
  fmt::print(stderr, R"(usage: ninja [options] [targets...]

if targets are unspecified, builds the 'default' target (see manual).

options:
  --version      print ninja version ("{}")
  -v, --verbose  show all command lines while building
  --quiet        don't show progress status, just command output
  --status FMT   progress status format using Ninja-style $vars
                 (e.g. --status '[$finished/$total] ')
  --mtime        compare times, as stock ninja does, instead of contents
  --trace FILE   write the build's timeline to FILE, in Chrome's trace format
  --resource NAME=N
                 resources that edges may use, for example memory=16GiB or tpu=4
  --remote-cache URL
                 take results from this remote cache: a URL of Bazel's HTTP protocol,
                 or gs://bucket
  --remote-write store results in the remote cache, too
  --remote-timeout N
                 stop asking the remote cache after N seconds without an answer
                 [default=10]

  -C DIR   change to DIR before doing anything else
  -f FILE  specify input build file [default=build.ninja]

  -j N     run N jobs in parallel (0 means infinity) [default={} on this system]
  -k N     keep going until N jobs fail (0 means infinity) [default=1]
  -l N     do not start new jobs if the load average is greater than N
  -n       dry run (don't run commands but act like they succeeded)

  -d MODE  enable debugging (use '-d list' to list modes)
  -t TOOL  run a subtool (use '-t list' to list subtools)
    terminates toplevel options; further flags are passed to the tool
  -w FLAG  adjust warnings (use '-w list' to list warnings)
)",
             kNinjaVersion, jobs);
}

std::string did_you_mean(const std::string& word, std::span<const std::string> known) {
  auto near = nearest_within(word, known, kNinjaEdits);
  return near ? fmt::format(", did you mean '{}'?", *near) : "";
}

constexpr long kMostTimeout = 3600;

// Each set_… or add_… function sets an option, and returns the exit code if the program must end.
std::optional<int> set_debug_mode(const std::string& mode, Options& options) {
  if (mode == "list") {
    std::fputs(kDebugModes, stdout);
    return 1;
  }
  for (auto [name, flag] :
       {std::pair("stats", &options.stats), std::pair("explain", &options.explain),
        std::pair("keepdepfile", &options.keep_depfile), std::pair("keeprsp", &options.keep_rsp)}) {
    if (mode != name) continue;
    *flag = true;
    return std::nullopt;
  }
  if (mode == "nostatcache") return std::nullopt;
  const std::vector<std::string> known = {"stats", "explain", "keepdepfile", "keeprsp",
                                          "nostatcache"};
  print_error(fmt::format("unknown debug setting '{}'{}", mode, did_you_mean(mode, known)));
  return 1;
}

std::optional<int> set_warning(const std::string& flag, Options& options) {
  if (flag == "list") {
    std::fputs(kWarnings, stdout);
    return 1;
  }
  if (flag == "phonycycle=err" || flag == "phonycycle=warn") {
    options.is_phony_cycle_error = flag == "phonycycle=err";
    return std::nullopt;
  }
  for (const char* old : {"dupbuild", "depfilemulti"}) {
    if (flag != fmt::format("{}=err", old) && flag != fmt::format("{}=warn", old)) continue;
    print_warning(fmt::format("deprecated warning '{}'", old));
    return std::nullopt;
  }
  const std::vector<std::string> known = {"phonycycle=err", "phonycycle=warn"};
  print_error(fmt::format("unknown warning flag '{}'{}", flag, did_you_mean(flag, known)));
  return 1;
}

std::optional<int> set_jobs(const char* text, Options& options) {
  char* end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0) return print_fatal("invalid -j parameter");
  options.jobs = value > 0 && value < INT_MAX ? static_cast<int>(value) : INT_MAX;
  options.is_jobs_given = true;
  return std::nullopt;
}

std::optional<int> set_keep_going(const char* text, Options& options) {
  char* end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (*end != '\0') return print_fatal("-k parameter not numeric; did you mean -k 0?");
  options.keep_going = value > 0 && value < INT_MAX ? static_cast<int>(value) : 0;
  return std::nullopt;
}

std::optional<int> set_load(const char* text, Options& options) {
  char* end = nullptr;
  options.max_load = std::strtod(text, &end);
  if (end == text) return print_fatal("-l parameter not numeric: did you mean -l 0.0?");
  return std::nullopt;
}

std::optional<int> set_tool(const std::string& name, Options& options) {
  if (name == "list") {
    std::fputs(list_tools().c_str(), stdout);
    return 0;
  }
  if (find_tool(name) == nullptr) {
    return print_fatal(fmt::format("unknown tool '{}'{}", name, did_you_mean(name, tool_names())));
  }
  options.tool = name;
  return std::nullopt;
}

std::optional<int> add_resource(const char* text, Options& options) {
  auto resource = parse_resource(text);
  if (!resource) return print_fatal("--resource: " + resource.error().message);
  options.resources.insert_or_assign(resource->first, resource->second);
  return std::nullopt;
}

std::optional<int> set_remote_timeout(const char* text, Options& options) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 1 || value > kMostTimeout) {
    return print_fatal("--remote-timeout is not a number of seconds");
  }
  options.remote_timeout = static_cast<int>(value);
  return std::nullopt;
}

// The numbers of long options that have no letter.
constexpr int kVersion = 1;
constexpr int kQuiet = 2;
constexpr int kStatus = 3;
constexpr int kTrace = 4;
constexpr int kResource = 5;
constexpr int kMtime = 6;
constexpr int kRemoteCache = 7;
constexpr int kRemoteWrite = 8;
constexpr int kRemoteTimeout = 9;

std::optional<int> set_option(int option, Options& options) {
  switch (option) {
    case 'd': return set_debug_mode(optarg, options);
    case 'w': return set_warning(optarg, options);
    case 'j': return set_jobs(optarg, options);
    case 'k': return set_keep_going(optarg, options);
    case 'l': return set_load(optarg, options);
    case 't': return set_tool(optarg, options);
    case 'f': options.manifest = optarg; return std::nullopt;
    case 'C': options.folder = optarg; return std::nullopt;
    case 'n': options.dry_run = true; return std::nullopt;
    case 'v': options.verbosity = Verbosity::verbose; return std::nullopt;
    case kQuiet: options.verbosity = Verbosity::quiet; return std::nullopt;
    case kStatus:
      options.status_format = optarg;
      options.has_status_format = true;
      return std::nullopt;
    case kResource: return add_resource(optarg, options);
    case kMtime: options.by_times = true; return std::nullopt;
    case kTrace: options.trace = optarg; return std::nullopt;
    case kRemoteCache: options.remote_cache = optarg; return std::nullopt;
    case kRemoteWrite: options.remote_write = true; return std::nullopt;
    case kRemoteTimeout: return set_remote_timeout(optarg, options);
    case kVersion: fmt::print("{}\n", kNinjaVersion); return 0;
    default: print_usage(options.jobs); return 1;
  }
}

}  // namespace

int default_jobs(int cores) {
  if (cores <= 1) return 2;
  return cores == 2 ? 3 : cores + 2;
}

std::variant<Options, int> parse_options(const std::vector<std::string>& arguments, int cores) {
  Options options;
  options.jobs = default_jobs(cores);
  GetoptWords words(arguments);
  const option long_options[] = {{"help", no_argument, nullptr, 'h'},
                                 {"version", no_argument, nullptr, kVersion},
                                 {"verbose", no_argument, nullptr, 'v'},
                                 {"quiet", no_argument, nullptr, kQuiet},
                                 {"status", required_argument, nullptr, kStatus},
                                 {"mtime", no_argument, nullptr, kMtime},
                                 {"trace", required_argument, nullptr, kTrace},
                                 {"resource", required_argument, nullptr, kResource},
                                 {"remote-cache", required_argument, nullptr, kRemoteCache},
                                 {"remote-write", no_argument, nullptr, kRemoteWrite},
                                 {"remote-timeout", required_argument, nullptr, kRemoteTimeout},
                                 {nullptr, 0, nullptr, 0}};
  int found = 0;
  // Words after -t belong to the tool.
  while (options.tool.empty() && (found = words.next("d:f:j:k:l:nt:vw:C:h", long_options)) != -1) {
    if (auto exit_code = set_option(found, options)) return *exit_code;
  }
  options.arguments = words.rest();
  return options;
}

}  // namespace evolve::ninja
