#include "engine/report/findings_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace evolve {

namespace {

const char* state_name(Finding::State state) {
  switch (state) {
    case Finding::State::good: return "good";
    case Finding::State::missing: return "missing";
    case Finding::State::notice: return "notice";
  }
  return "";
}

}  // namespace

std::string findings_text(std::span<const Finding> findings) {
  std::string out;
  for (const Finding& one : findings) {
    out += fmt::format("  {:<8} {:<12} {}\n", state_name(one.state), one.subject, one.text);
    if (!one.hint.empty()) out += fmt::format("  {:<21} hint: {}\n", "", one.hint);
  }
  return out;
}

nlohmann::json findings_json(std::span<const Finding> findings) {
  auto out = nlohmann::json::array();
  for (const Finding& one : findings) {
    out.push_back({{"state", state_name(one.state)},
                   {"subject", one.subject},
                   {"text", one.text},
                   {"hint", one.hint}});
  }
  return out;
}

Status findings_status(std::span<const Finding> findings, const std::string& command,
                       const std::string& consequence) {
  const auto missing = std::count_if(findings.begin(), findings.end(), [](const Finding& one) {
    return one.state == Finding::State::missing;
  });
  if (missing == 0) return {};
  return failed(fmt::format("{}: {} missing: {}", command,
                            missing == 1 ? "one thing is" : fmt::format("{} things are", missing),
                            consequence));
}

}  // namespace evolve
