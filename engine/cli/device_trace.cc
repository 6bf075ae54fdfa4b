#include "engine/cli/device_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/cli/campaign.h"
#include "engine/cli/report.h"
#include "engine/cli/toolchain.h"
#include "engine/world/capture.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_trace(const fs::path& path) {
  return path.string().ends_with(".xplane.pb");
}

// The step's own words, without its name and the line's end.
std::string words_of(std::string text) {
  constexpr std::string_view kName = "xplane: ";
  if (text.starts_with(kName)) text.erase(0, kName.size());
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<json> report_of(const std::vector<std::string>& traces, const TraceQuestion& question) {
  if (!std::isfinite(question.floor)) return bad_input("--floor: a number of seconds was expected");
  const std::string rules = find_rules(fs::current_path().string());
  auto toolchain = read_toolchain(find_python(rules), rules + "/requirements.lock");
  if (!toolchain) return std::move(toolchain).error();
  std::vector<std::string> words = {toolchain->python, rules + "/steps/xplane.py", "--out", "-"};
  // With the equals sign: a name may begin with a dash.
  if (!question.module.empty()) words.push_back("--module=" + question.module);
  if (question.runs != 0) words.push_back(fmt::format("--runs={}", question.runs));
  if (question.floor != 0) words.push_back(fmt::format("--floor={}", question.floor));
  for (const std::string& trace : traces) words.push_back("--trace=" + trace);
  const char* path = std::getenv("PATH");
  auto ended = world::capture(words, {{"PATH", path == nullptr ? "/usr/bin:/bin" : path},
                                      {"PYTHONDONTWRITEBYTECODE", "1"}});
  if (!ended) return std::move(ended).error();
  if (ended->code == exit_code(ErrorCode::bad_input)) return bad_input(words_of(ended->err));
  json report = json::parse(ended->out, nullptr, false);
  if (ended->code != 0 || report.is_discarded()) {
    Error error = external(fmt::format("{} ended with {}", words[1], ended->code));
    error.detail = ended->err;
    return error;
  }
  return report;
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

Status run_analyze_traces(const std::vector<std::string>& traces, const TraceQuestion& question,
                          bool json_wanted) {
  auto report = report_of(traces, question);
  if (!report) return std::move(report).error();
  print_out(json_wanted ? report->dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                        : device_trace_text(*report));
  if ((*report)["verdict"] == "ok") return {};
  return failed((*report)["reason"].get<std::string>());
}

}  // namespace evolve::cli
