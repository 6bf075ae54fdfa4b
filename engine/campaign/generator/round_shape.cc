// Values derived from a campaign's shape: its digest, its cases and its timing.
#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/generator/round.h"
#include "engine/core/key.h"

namespace evolve {

Digest digest_of(const CampaignShape& shape) {
  // This does not compile if the list lacks a member of the shape.
  const auto& [pipeline, files, entry, bench_cases, check_cases, llm_keys, timing, is_sandboxed,
               step_sources, pod_pools] = shape;
  KeyWriter out;
  out.add("pipeline", "", pipeline.source.hex());
  for (const std::string& path : files.all()) out.add("file", "", path);
  out.add("entry", "", entry);
  const auto& [screening, confirming, finalists] = timing;
  for (const Effort& effort : {screening, confirming}) {
    out.add("effort", "", fmt::format("{} {} {}", effort.processes, effort.runs, effort.seconds));
  }
  out.add("finalists", "", std::to_string(finalists));
  out.add("sandboxed", "", is_sandboxed ? "1" : "0");
  for (const auto* list : {&bench_cases, &check_cases, &llm_keys, &step_sources}) {
    out.add("list", "", std::to_string(list->size()));
    for (const std::string& item : *list) out.add("item", "", item);
  }
  for (const auto& [step, pool] : pod_pools) out.add("node pool", step, pool);
  return out.key();
}

Timing within_budget(Timing timing, double budget, int variants, size_t cases) {
  const double needed = static_cast<double>(cases) * (variants * timing.screening.seconds +
                                                      timing.finalists * timing.confirming.seconds);
  timing.screening.seconds *= budget / needed;
  timing.confirming.seconds *= budget / needed;
  return timing;
}

std::vector<JudgedCase> judged_cases(const CampaignShape& shape) {
  std::vector<JudgedCase> out;
  const bool must_be_new = shape.pipeline.mutate.least_distance.has_value();
  const auto& benches = shape.bench_cases;
  for (const std::string& name : shape.check_cases) {
    const bool is_bench = std::find(benches.begin(), benches.end(), name) != benches.end();
    out.push_back(
        {.name = name, .is_bench = is_bench, .is_check = true, .must_be_new = must_be_new});
  }
  const auto& checks = shape.check_cases;
  for (const std::string& name : benches) {
    if (std::find(checks.begin(), checks.end(), name) != checks.end()) continue;
    out.push_back({.name = name, .is_bench = true, .must_be_new = must_be_new});
  }
  return out;
}

std::vector<JudgedCase> judged_cases(const CampaignShape& shape, int number) {
  std::vector<JudgedCase> out = judged_cases(shape);
  for (JudgedCase& one : out) one.must_be_new = one.must_be_new && number != 0;
  return out;
}

}  // namespace evolve
