// `evolve import`: a recorded round from a bundle file, or a new kernel from another system's task,
// with the task's results there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/open_campaign.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/cli/kernel/new_kernel.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/yaml/yaml_json.h"
#include "engine/replay/bundle.h"
#include "engine/report/output.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;  // keeps the order of a map, which people chose
namespace fs = std::filesystem;

struct ImportCommand {
  std::string format;  // of the task; without `file`: a bundle's file (bundle.h)
  std::string file;    // of the task; empty: not given
  std::string name;    // of the kernel; empty: the task's own
};

// Returns a number or a boolean for a plain scalar that reads as one. This includes forms that YAML
// 1.1 calls texts ("1e-2"), because the files were written for readers that accept them.
ordered_json scalar_json(const YamlNode& node) {
  if (node.is_quoted) return node.text;
  if (auto whole = parse_whole(node.text); whole) return *whole;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  const auto number = parse_outside<ordered_json>(node.text);
  return number && number->is_number() ? *number : ordered_json(node.text);
}

Result<ordered_json> read_yaml(const std::string& path) {
  auto text = world::read_file(path);
  if (!text) return bad_input(std::move(text).error().message);
  TRY_ASSIGN(auto source, YamlSource::parse(*text, path));
  return yaml_json<ordered_json>(source.root(), scalar_json);
}

struct Format {
  const char* name;
  bool is_yaml;
  const char* of_folder;  // YAML file in a folder; null: folders are not accepted
};
constexpr Format kFormats[] = {
    {"glaucis", true, "config.yaml"}, {"kerlever", true, nullptr},
    {"kernelbench", false, nullptr},  {"maxkernel", true, "kernel_task.yaml"},
    {"tokamax", false, nullptr},
};
// The format of tuned block sizes, which belong to a kernel that already exists.
constexpr std::string_view kTables = "tokamax";

// Records the rounds as they were in the other system. The rounds go into the ledger. The files
// that `show` reads about their variants go into the work folder, where a build puts its own files.
Result<int> record_past(const CommonOptions& common, const std::string& pipeline,
                        const json& past) {
  CommonOptions its = common;
  its.campaign.pipeline = pipeline;
  TRY_ASSIGN(auto opened, open_without_graph(its));
  const Campaign& campaign = opened.campaign;
  for (const auto& [name, record] : past.at("work").items()) {
    const fs::path path = fs::path(campaign.work) / name;
    TRY(opened.state->files.make_folders(path.parent_path().string()));
    TRY(world::write_file_atomic(path.string(), json_block(record) + "\n"));
  }
  for (const json& round : past.at("rounds")) {
    TRY(opened.state->ledger->rounds().record_selection(
        campaign.name,
        {round.at("round").get<int>(), opened.state->clock.utc(), json_line(round)}));
  }
  TRY(opened.state->ledger->flush());
  return static_cast<int>(past.at("rounds").size());
}

// Puts block sizes from another system's tables into the tuned.json of the named kernel.
Status import_table(const CommonOptions& common, const ImportCommand& command,
                    const fs::path& file) {
  if (command.name.empty())
    return bad_input("--name is missing: block sizes belong to a kernel", "",
                     "--name KERNEL names a folder of kernels/");
  const fs::path folder = kernels_root() / "kernels" / command.name;
  TRY_ASSIGN(auto spec, read_yaml((folder / "spec.yaml").string()));
  TRY_ASSIGN(auto report,
             python_report("init.tables", {"--from=" + file.string(), "--kernel=" + command.name,
                                           "--spec=" + json_line(spec),
                                           "--table=" + (folder / "tuned.json").string()}));
  say_notices(report);
  print_result(
      common, report,
      fmt::format("kernels/{}/tuned.json: added {} entries; their times were not measured here\n",
                  command.name, report.value("entries", 0)));
  return {};
}

// Returns the names of the formats of tasks.
const std::vector<std::string>& task_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Format& format : kFormats) out.emplace_back(format.name);
    return out;
  }();
  return names;
}

// Writes kernels/NAME and pipelines/NAME-v7x.yaml with rules/init/imports.py, where `evolve init`
// would write them. Existing files are never overwritten. If the task is a run directory of
// Glaucis, its rounds go into the ledger unchanged, with a mark that they are from Glaucis. Its
// kernels become proposals, because another system's measurements are history and not results of a
// build.
Status run_import_task(const CommonOptions& common, const ImportCommand& command) {
  const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                    [&](const Format& one) { return one.name == command.format; });
  if (format == std::end(kFormats)) {
    const auto near = nearest(command.format, task_formats());
    return bad_input(fmt::format("unknown format '{}'{}", command.format,
                                 near ? fmt::format(", did you mean '{}'?", *near) : ""),
                     "", fmt::format("one of: {}", fmt::join(task_formats(), ", ")));
  }
  if (!command.name.empty()) {
    TRY(check_kernel_name(command.name));
  }
  const fs::path given = fs::absolute(command.file).lexically_normal();
  fs::path file = given;
  std::error_code error;
  if (format->of_folder != nullptr && fs::is_directory(given, error)) file /= format->of_folder;
  if (!fs::is_regular_file(file, error))
    return bad_input(fmt::format("{}: no such file", file.string()));
  if (format->name == kTables) return import_table(common, command, file);
  std::vector<std::string> words = {fmt::format("--format={}", format->name),
                                    "--from=" + given.string(), "--name=" + command.name};
  if (format->is_yaml) {
    TRY_ASSIGN(auto config, read_yaml(file.string()));
    words.push_back("--config=" + json_line(config));
  }
  TRY_ASSIGN(auto report, write_kernel("init.imports", std::move(words), kernels_root()));
  std::string done;
  if (report.contains("past")) {
    const json past = std::move(report["past"]);
    report.erase("past");
    // Opening a campaign changes to its project's root, so the folder is changed back afterwards.
    const fs::path here = fs::current_path();
    auto rounds = record_past(common, report["pipeline"].get<std::string>(), past);
    fs::current_path(here, error);
    if (!rounds) return std::move(rounds).error();
    report["rounds"] = *rounds;
    done = fmt::format(
        "{} rounds were added to the ledger unchanged (evolve log); their kernels are proposals, "
        "and a build judges them again\n",
        *rounds);
  }
  say_written(common, report, done);
  return {};
}

// Imports a bundle file if the user gives one word, or else a task, by its format and its file.
Status run_import(const CommonOptions& common, const ImportCommand& command, BundleRequest bundle) {
  if (!command.file.empty()) return run_import_task(common, command);
  const auto& formats = task_formats();
  if (std::find(formats.begin(), formats.end(), command.format) != formats.end())
    return bad_input(fmt::format("evolve import {}: the file is missing", command.format));
  bundle.path = command.format;
  TRY_ASSIGN(auto answer, import_bundle(common, bundle));
  return print_answer(common, answer);
}

}  // namespace

void add_import(Commands& commands) {
  auto command = commands.add(
      "import", "import a round from a bundle, or another system's task as a new kernel");
  auto options = std::make_shared<ImportCommand>();
  auto bundle = std::make_shared<BundleRequest>();
  command
      .add("what", options->format,
           fmt::format("a bundle's file; for a task: the format of its file, one of: {}",
                       fmt::join(task_formats(), ", ")))
      .required();
  command.add("file", options->file, "for a task: its file, or its folder");
  command.add("--as", bundle->as,
              "for a bundle: the campaign's name here (default: the name in the bundle)");
  command.add(
      "--name", options->name,
      "for a task: the kernel's name here (default: the name in the task; for tokamax, required)");
  commands.add_common(command);
  commands.on(command, [options, bundle](const CommonOptions& common) {
    return run_import(common, *options, *bundle);
  });
}

}  // namespace evolve::cli
