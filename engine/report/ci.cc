#include "engine/report/ci.h"

#include <fmt/format.h>

#include <map>

#include "engine/core/text/markup.h"
#include "engine/core/text/units.h"

namespace evolve {

namespace {

using nlohmann::json;

// Escapes what Markdown would interpret in a table's cell.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

bool is_rejected(const EdgeEvent& event) {
  return !event.verdict.empty() && event.verdict != "ok";
}

std::string case_xml(const std::string& campaign, const EdgeEvent& event) {
  std::string out = fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\">\n",
                                escaped_markup(campaign), escaped_markup(event.step),
                                escaped_markup(event.subject), event.seconds);
  if (event.outcome == Outcome::failed) {
    out += fmt::format("      <failure message=\"exit status {}\">{}</failure>\n",
                       event.exit_status, escaped_markup(event.output));
  } else if (is_rejected(event)) {
    out += fmt::format("      <skipped message=\"verdict: {}\"/>\n", escaped_markup(event.verdict));
  }
  if (event.outcome != Outcome::ran && event.outcome != Outcome::failed) {
    out += "      <properties><property name=\"cached\" value=\"true\"/></properties>\n";
  }
  return out + "    </testcase>\n";
}

std::string times_markdown(const json& report) {
  const std::string best = report["best"].value("variant", "");
  std::string out = fmt::format(
      "\nBest: **{}**\n\n| case | {} | seed | XLA | |\n|---|---|---|---|---|\n", best, best);
  for (const json& row : report["times"]) {
    auto time = [&](const char* key) {
      return row.contains(key) ? duration(row[key].get<double>()) : std::string("-");
    };
    out += fmt::format("| {} | {} | {} | {} | {} |\n", cell(row.value("case", "")), time("seconds"),
                       time("seed_seconds"), time("xla_seconds"), row.value("kind", ""));
  }
  return out;
}

}  // namespace

void CiReport::finished(const EdgeEvent& event, const BuildPlan& plan) {
  ended_.push_back(event);
  next_.finished(event, plan);
}

std::string CiReport::junit(const std::string& campaign, const std::string& fault) const {
  struct Suite {
    size_t cases = 0, failures = 0, skipped = 0;
    double seconds = 0;
    std::string text;
  };
  std::map<std::string, Suite> suites;
  Suite all;
  for (const EdgeEvent& event : ended_) {
    for (Suite* suite : {&suites[event.step], &all}) {
      ++suite->cases;
      suite->failures += event.outcome == Outcome::failed ? 1 : 0;
      suite->skipped += event.outcome != Outcome::failed && is_rejected(event) ? 1 : 0;
      suite->seconds += event.seconds;
    }
    suites[event.step].text += case_xml(campaign, event);
  }
  if (!fault.empty()) {
    Suite& build = suites["build"];
    ++build.cases, ++build.failures, ++all.cases, ++all.failures;
    build.text += fmt::format(
        "    <testcase classname=\"{}\" name=\"build\" time=\"0\">\n"
        "      <failure message=\"{}\"/>\n    </testcase>\n",
        escaped_markup(campaign), escaped_markup(fault));
  }
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      escaped_markup(campaign), all.cases, all.failures, all.skipped, all.seconds);
  for (const auto& [step, suite] : suites) {
    out += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}  </testsuite>\n",
        escaped_markup(step), suite.cases, suite.failures, suite.skipped, suite.seconds,
        suite.text);
  }
  return out + "</testsuites>\n";
}

std::string ci_summary(const json& report, const std::string& fault) {
  std::string out =
      fmt::format("### evolve: {}, round {}: {}\n\n", cell(report.value("campaign", "")),
                  report.value("round", 0), fault.empty() ? "passed" : "failed");
  if (!fault.empty()) out += cell(fault) + "\n\n";
  out += fmt::format("{} ran, {} cached, {} failed, {} skipped in {}\n\n", report.value("ran", 0),
                     report.value("cached", 0), report.value("failed", 0),
                     report.value("skipped", 0), duration(report.value("seconds", 0.0)));
  out += "| step | ran | cached | failed |\n|---|---|---|---|\n";
  for (const auto& [step, its] : report["steps"].items()) {
    out += fmt::format("| {} | {} | {} | {} |\n", cell(step), its.value("ran", 0),
                       its.value("hit", 0) + its.value("joined", 0), its.value("failed", 0));
  }
  if (report.contains("best") && report.contains("times")) out += times_markdown(report);
  if (report.contains("remote_cache")) {
    const json& remote = report["remote_cache"];
    out += fmt::format("\nRemote cache: {} results fetched, {} stored\n", remote.value("taken", 0),
                       remote.value("stored", 0));
    for (const json& one : remote["faults"]) {
      out += fmt::format("\n⚠ {}\n", cell(one.get<std::string>()));
    }
  }
  return out;
}

}  // namespace evolve
