#include "engine/app/device_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/app/campaign.h"
#include "engine/app/python.h"
#include "engine/core/outside_json.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_trace(const fs::path& path) {
  return path.string().ends_with(".xplane.pb");
}

}  // namespace

std::vector<std::string> find_traces(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return is_trace(path) ? std::vector<std::string>{path} : std::vector<std::string>{};
  const fs::path profiles = fs::path(path) / "plugins/profile";
  const fs::path folder = fs::is_directory(profiles, error) ? profiles : fs::path(path);
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().string().ends_with("packed-bundles-post-ra.txt")) return {};
  }
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it.depth() > 0) it.disable_recursion_pending();
    if (is_trace(it->path()) && it->is_regular_file(error)) out.push_back(it->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<nlohmann::json> read_traces(const std::vector<std::string>& traces,
                                   const TraceQuestion& question) {
  if (!std::isfinite(question.floor)) return bad_input("--floor: expected a number of seconds");
  std::vector<std::string> flags = {"--out", "-"};
  // The equals sign keeps a name that begins with a dash from being read as a flag.
  if (!question.module.empty()) flags.push_back("--module=" + question.module);
  if (question.runs != 0) flags.push_back(fmt::format("--runs={}", question.runs));
  if (question.floor != 0) flags.push_back(fmt::format("--floor={}", question.floor));
  for (const std::string& trace : traces) flags.push_back("--trace=" + trace);
  TRY_ASSIGN(auto said, run_python("traces.xplane", flags));
  json report = json_or_null(said);
  if (!report.is_object()) return external("traces.xplane: its report is not JSON");
  return report;
}

}  // namespace evolve
