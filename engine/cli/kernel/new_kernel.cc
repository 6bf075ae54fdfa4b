#include "engine/cli/kernel/new_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include "engine/app/python.h"
#include "engine/cli/common_options.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/report/output.h"
#include "engine/report/terminal.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string from_here(const json& path) {
  return fs::path(path.get<std::string>()).lexically_relative(fs::current_path()).string();
}

}  // namespace

Status check_kernel_name(const std::string& name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kAll = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (!name.empty() && kLetters.find(name[0]) != std::string_view::npos &&
      name.find_first_not_of(kAll) == std::string::npos) {
    return {};
  }
  return bad_input(
      fmt::format("'{}' is not a valid kernel name", name), "",
      "a kernel's name is a folder and a Python module: use lower-case letters, digits and _");
}

fs::path kernels_root() {
  std::error_code error;
  for (fs::path folder = fs::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::is_directory(folder / "kernels", error)) return folder;
  }
  return fs::current_path();
}

Result<json> python_report(const std::string& program, const std::vector<std::string>& words) {
  TRY_ASSIGN(auto said, run_python(program, words));
  json report = json_or_null(said);
  if (!report.is_object()) return external(program + ": its report is not JSON");
  return report;
}

void say_notices(const json& report) {
  for (const json& notice : report.value("notices", json::array()))
    print_err(fmt::format("evolve: notice: {}\n", notice.get<std::string>()));
}

Result<json> write_kernel(const std::string& program, std::vector<std::string> words,
                          const fs::path& root) {
  words.push_back("--root=" + root.string());
  // An api.py imports code that kernels share, so without that code no api.py is written.
  std::error_code error;
  if (!fs::exists(root / "kernels" / "implementations.py", error))
    words.emplace_back("--without-api");
  const bool is_live = is_terminal(STDERR_FILENO);
  if (is_live)
    print_err(Lead::none, "trying the seed with the TPU's compiler, which may take minutes ...");
  auto report = python_report(program, words);
  if (is_live) print_err(Lead::rewind, "");
  return report;
}

void say_written(const CommonOptions& common, const json& report, const std::string& done) {
  say_notices(report);
  if (const json refused = report.value("refused", json()); refused.is_object()) {
    print_err(fmt::format("evolve: warning: the judge would reject this seed: {}\nhint: {}\n",
                          refused.value("why", ""), refused.value("instead", "")));
  }
  std::string dimensions;
  const json sizes = report.value("dimensions", json::object());
  for (const auto& [name, size] : sizes.items())
    dimensions += fmt::format(" {}={}", name, json_line(size));
  const std::string pipeline = from_here(report["pipeline"]);
  print_result(common, report,
               fmt::format("wrote {} and {}, with the dimensions{}\n"
                           "{}\n"
                           "Next steps:\n"
                           "  evolve kernel check {}\n"
                           "  evolve build round-1 -p {}\n",
                           from_here(report["folder"]), pipeline, dimensions, done,
                           report["name"].get<std::string>(), pipeline));
}

}  // namespace evolve::cli
