// The text of `evolve analyze` on device traces. The report's format is in rules/README.md.
#include "engine/report/device_trace_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/core/text/units.h"
#include "engine/report/table.h"

namespace evolve {

namespace {

using nlohmann::json;

constexpr size_t kMostPrograms = 3;  // programs that get more than a line
constexpr size_t kLeastOps = 3;
constexpr size_t kMostOps = 8;
constexpr size_t kMostRefused = 5;
constexpr double kLeastShare = 0.005;

bool counts(const json& program) {
  return program["runs"].get<int>() > 0;
}

// Returns "jit_f", with the program's id if another program has the same name.
std::string name_of(const json& program, const json& programs) {
  auto namesakes = std::count_if(programs.begin(), programs.end(), [&](const json& other) {
    return other["name"] == program["name"];
  });
  auto name = program["name"].get<std::string>();
  return namesakes == 1 ? name
                        : fmt::format("{}({})", name, program["program_id"].get<std::string>());
}

std::string programs_table(const json& programs) {
  std::vector<std::vector<std::string>> rows = {
      {"program", "runs", "refused", "median", "min", "max", "busy"}};
  for (const json& program : programs) {
    std::vector<std::string> row = {name_of(program, programs),
                                    fmt::format("{}", program["runs"].get<int>()),
                                    fmt::format("{}", program["refused"].size())};
    if (counts(program)) {
      for (const char* which : {"median", "min", "max"})
        row.push_back(duration(program["seconds"][which]));
      row.push_back(percent(program["busy_share"]));
    }
    rows.push_back(std::move(row));
  }
  return table(rows, "  ");
}

// Lists the ops of an average run. Ops nest, so their shares may add up to more than the whole.
std::string ops_text(const json& program) {
  std::string text;
  const auto runs = program["runs"].get<double>();
  size_t shown = 0;
  for (const json& op : program["ops"]) {
    const bool is_little = op["share"].get<double>() < kLeastShare && shown >= kLeastOps;
    if (shown == kMostOps || is_little) break;
    ++shown;
    const double times = op["times"].get<double>() / runs;
    text += fmt::format("  {:>9} {:>5}  {}{}{}\n", duration(op["seconds"].get<double>() / runs),
                        percent(op["share"]), op["name"].get<std::string>(),
                        op["is_custom_call"].get<bool>() ? ", a custom call" : "",
                        times == 1 ? "" : fmt::format(" ({:g} times)", times));
  }
  const size_t left = program["op_count"].get<size_t>() - shown;
  return left == 0 ? text : text + fmt::format("  and {} ops more\n", left);
}

std::string counters_text(const json& counters) {
  std::vector<std::string> units;
  double covered = 0;
  for (const auto& [name, unit] : counters["utilisation"].items()) {
    units.push_back(fmt::format("{} {}", name, percent(unit["share"])));
    covered = std::max(covered, unit["covered_share"].get<double>());
  }
  std::string text;
  if (!counters["not_credible"].is_null())
    text += fmt::format("  units    not credible, left out: {}\n",
                        counters["not_credible"].get<std::string>());
  if (!units.empty())
    text += fmt::format("  units    {}; {} of the time was sampled\n", fmt::join(units, ", "),
                        percent(covered));
  for (const char* name : {"spills", "fills"}) {
    if (!counters[name].is_null())
      text += fmt::format("  {}   {:.0f} in all runs\n", name, counters[name].get<double>());
  }
  if (counters["refused"].get<int>() > 0)
    text += fmt::format("  refused  {} samples of counters, outside of 0 to 100 %\n",
                        counters["refused"].get<int>());
  return text;
}

std::string times_text(const json& program) {
  std::string text;
  if (!program["sync_wait_ratio"].is_null())
    text +=
        fmt::format("  waits    {} of the time; compute ratio {:.2f}\n",
                    percent(program["sync_wait_ratio"]), program["compute_ratio"].get<double>());
  if (!program["async_hidden_share"].is_null())
    text += fmt::format(
        "  async    {} a run, {} of it during ops\n",
        duration(program["async_seconds"].get<double>() / program["runs"].get<double>()),
        percent(program["async_hidden_share"]));
  return text;
}

std::string run_words(const json& run) {
  return run.is_null() ? "a run" : "run " + run.get<std::string>();
}

std::string refused_text(const json& program) {
  std::string text;
  size_t shown = 0;
  for (const json& one : program["refused"]) {
    if (shown++ == kMostRefused) break;
    text += fmt::format("  refused  {}: {}\n", run_words(one["run_id"]),
                        one["reason"].get<std::string>());
  }
  if (program["refused"].size() > kMostRefused)
    text += fmt::format("           and {} more\n", program["refused"].size() - kMostRefused);
  if (!program["missing_runs"].empty())
    text += fmt::format("  missing  {} runs that other devices have, first {}\n",
                        program["missing_runs"].size(), run_words(program["missing_runs"][0]));
  return text;
}

std::string program_text(const json& program, const json& programs) {
  std::string text =
      counts(program) ? ops_text(program) + times_text(program) + counters_text(program["counters"])
                      : "";
  text += refused_text(program);
  return text.empty() ? "" : fmt::format("\n{}\n{}", name_of(program, programs), text);
}

std::string degradations_text(const json& device) {
  std::string text;
  for (auto [key, what] :
       {std::pair("program_ids_from_names", "runs have no program id; matched by name"),
        std::pair("executions_without_run_id", "runs have no run id"),
        std::pair("aggregated_events", "events have no time")}) {
    auto count = device["degradations"][key].get<int>();
    if (count > 0) text += fmt::format("{} {}\n", count, what);
  }
  auto between = device["ops_between"].get<int>();
  if (between > 0) text += fmt::format("{} ops lie outside of all runs\n", between);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string device_trace_text(const json& report) {
  std::string text;
  const json& devices = report["devices"];
  const bool is_one = std::all_of(devices.begin(), devices.end(), [&](const json& device) {
    return device["trace"] == devices[0]["trace"];
  });
  for (const json& device : devices) {
    if (!text.empty()) text += "\n";
    text += device["device"].get<std::string>();
    if (!is_one) text += " of " + device["trace"].get<std::string>();
    const json& programs = device["programs"];
    text += programs.empty() ? "\n  no such program\n" : "\n" + programs_table(programs);
    for (size_t i = 0; i < programs.size(); ++i) {
      // Gives details of the first programs, which take most of the time, and of those with refused
      // runs.
      if (i < kMostPrograms || !programs[i]["refused"].empty())
        text += program_text(programs[i], programs);
    }
    text += degradations_text(device);
  }
  for (const json& remark : report["remarks"])
    text += fmt::format("\nthe profiler says: {}\n", remark.get<std::string>());
  return text;
}

}  // namespace evolve
