#include "engine/cli/ninja/ninja.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/app/machine.h"
#include "engine/cli/ninja/ninja_build.h"
#include "engine/cli/ninja/ninja_records.h"
#include "engine/graph/manifest.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/options.h"
#include "engine/ninja/tools.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

// Reads the manifest, and lists the files that it consists of. An exit code: reading failed.
std::optional<int> read_manifest(const ninja::Options& options, Graph& graph,
                                 std::vector<std::string>* files = nullptr) {
  ManifestOptions reading;
  reading.is_phony_cycle_error = options.is_phony_cycle_error;
  reading.warn = ninja::print_warning;
  bool is_there = true;
  LoadText load = [&](const std::string& path) {
    auto text = world::load_text(path);
    is_there = static_cast<bool>(text);
    if (files != nullptr) files->push_back(path);
    return text;
  };
  auto status = parse_manifest(options.manifest, load, graph, reading);
  if (status) return std::nullopt;
  if (is_there && !status.error().is_located) return ninja::print_fatal(status.error().message);
  ninja::print_error(ninja::text_of(status.error()));
  return 1;
}

int run_with(const ninja::Options& options) {
  if (!options.folder.empty()) {
    // Emacs looks for these odd quotes, and then follows the change of folder.
    if (options.tool.empty() && options.verbosity != ninja::Verbosity::quiet) {
      ninja::print_info(fmt::format("Entering directory `{}'", options.folder));
    }
    if (::chdir(options.folder.c_str()) != 0) {
      return ninja::print_fatal(
          fmt::format("chdir to '{}' - {}", options.folder, std::strerror(errno)));
    }
  }
  if (options.tool.empty()) {
    return build_ninja(options, [&](Graph& graph, std::vector<std::string>& files) {
      return read_manifest(options, graph, &files);
    });
  }
  world::DiskFiles files;
  Graph graph;
  const ninja::Tool* tool = ninja::find_tool(options.tool);
  std::error_code error;
  ninja::ToolContext context{graph,
                             options,
                             files,
                             world::load_text,
                             std::filesystem::current_path(error).string(),
                             [&graph] { return last_records(graph); }};
  if (tool->needs != ninja::ToolNeeds::nothing) {
    if (auto exit_code = read_manifest(options, graph)) return *exit_code;
  }
  return tool->run(context, options.arguments);
}

}  // namespace

int run_ninja(const std::vector<std::string>& arguments) {
  auto options = ninja::parse_options(arguments, usable_cores());
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return run_with(std::get<ninja::Options>(options));
}

}  // namespace evolve::cli
