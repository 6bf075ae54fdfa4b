#include "engine/cli/init_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/cli/python.h"
#include "engine/cli/report.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_name(const std::string& name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kAll = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && kLetters.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of(kAll) == std::string::npos;
}

// The nearest folder at or above this one that has kernels, or else this one.
fs::path project() {
  std::error_code error;
  for (fs::path folder = fs::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::is_directory(folder / "kernels", error)) return folder;
  }
  return fs::current_path();
}

}  // namespace

Status run_init(const CommonOptions& common, const InitCommand& command) {
  if (!is_name(command.name)) {
    return bad_input(fmt::format("'{}' is no name of a kernel", command.name), "",
                     "small letters, digits and _: it is a folder and a Python module");
  }
  const fs::path root = project();
  const fs::path folder = root / "kernels" / command.name;
  const fs::path pipeline = root / "pipelines" / (command.name + "-v7x.yaml");
  std::error_code error;
  for (const fs::path& path : {folder, pipeline}) {
    if (fs::exists(path, error))
      return bad_input(fmt::format("{} is there already", path.string()));
  }
  std::vector<std::string> words = {"--from=" + command.from, "--name=" + command.name,
                                    "--folder=" + folder.string(),
                                    "--pipeline=" + pipeline.string()};
  for (const std::string& input : command.inputs) words.push_back("--input=" + input);
  // Which imports what kernels have in common.
  if (!fs::exists(root / "kernels" / "implementations.py", error))
    words.emplace_back("--without-api");
  auto said = run_python("init/init.py", words);
  if (!said) return std::move(said).error();
  const json report = json::parse(*said, nullptr, false);
  if (!report.is_object()) return external("init/init.py: its report is no JSON");
  const std::string at = pipeline.lexically_relative(fs::current_path()).string();
  std::string dimensions;
  const json sizes = report.value("dimensions", json::object());
  for (const auto& [name, size] : sizes.items())
    dimensions += fmt::format(" {}={}", name, size.dump());
  if (const std::string refused = report.value("refused", ""); !refused.empty()) {
    fmt::print(stderr,
               "evolve: warning: the seed does not compile as it stands: {}\nhint: write "
               "kernel.py's blocks in another way\n",
               refused);
  }
  print_result(common, report,
               fmt::format("{} and {}, of the dimensions{}\n\nWhat to do next:\n"
                           "  evolve kernel check {}\n  evolve build round-1 -p {}\n",
                           folder.lexically_relative(fs::current_path()).string(), at, dimensions,
                           command.name, at));
  return {};
}

}  // namespace evolve::cli
