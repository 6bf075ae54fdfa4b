// What follows from a campaign's shape: its digest, its cases, and who may survive.
#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/generator/round.h"
#include "engine/core/key.h"

namespace evolve {

int Survival::capacity() const {
  if (policy == "lineages") return most_lineages;
  if (policy == "islands") return islands * top_k;
  if (policy == "map_elites") return most_cells;
  return top_k;
}

Digest digest_of(const CampaignShape& shape) {
  // A member that is missing here does not compile.
  const auto& [rounds, variants, survival, random_seed, mix, opening, sampler, llm, llm_keys, plan,
               proposals, learnings, learn_effect, least_distance, explore, target, compile_flags,
               constants, is_measured, timing, is_sandboxed, entry, spec, seed, reference, xla,
               marker_start, marker_end, timed_cases, bench_cases, check_cases, step_sources,
               node_pools, limits] = shape;
  KeyWriter out;
  out.add("numbers", "",
          fmt::format("{} {} {} {} {} {} {} {}", rounds, variants, random_seed, opening, explore,
                      learn_effect, is_measured, is_sandboxed));
  const auto& [policy, by_point, top_k, most_lineages, islands, interval, most_cells] = survival;
  out.add("survival", policy,
          fmt::format("{} {} {} {} {} {}", by_point, top_k, most_lineages, islands, interval,
                      most_cells));
  if (least_distance) out.add("least distance", "", fmt::format("{}", *least_distance));
  for (const auto& [name, weight] : mix) out.add("mutator", name, std::to_string(weight));
  const auto& [screening, confirming, finalists, first_cut] = timing;
  for (const Effort& effort : {screening, confirming}) {
    out.add("effort", "", fmt::format("{} {} {}", effort.processes, effort.runs, effort.seconds));
  }
  out.add("finalists", "", std::to_string(finalists));
  out.add("first cut", "", first_cut ? fmt::format("{}", *first_cut) : "");
  for (const auto* text : {&sampler, &llm, &plan, &proposals, &learnings, &target, &constants,
                           &entry, &spec, &seed, &reference, &xla, &marker_start, &marker_end}) {
    out.add("text", "", *text);
  }
  for (const auto& [step, pool] : node_pools) out.add("node pool", step, pool);
  for (const auto& [step, seconds] : limits) out.add("limit", step, std::to_string(seconds));
  for (const auto* list :
       {&llm_keys, &compile_flags, &timed_cases, &bench_cases, &check_cases, &step_sources}) {
    out.add("list", "", std::to_string(list->size()));
    for (const std::string& item : *list) out.add("item", "", item);
  }
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
  const bool must_be_new = shape.least_distance.has_value();
  const auto& benches = shape.bench_cases;
  for (const std::string& name : shape.check_cases) {
    const bool is_bench = std::find(benches.begin(), benches.end(), name) != benches.end();
    out.push_back({name, is_bench, true, must_be_new});
  }
  const auto& checks = shape.check_cases;
  for (const std::string& name : benches) {
    if (std::find(checks.begin(), checks.end(), name) != checks.end()) continue;
    out.push_back({name, true, false, must_be_new});
  }
  return out;
}

std::vector<JudgedCase> judged_cases(const CampaignShape& shape, int number) {
  std::vector<JudgedCase> out = judged_cases(shape);
  for (JudgedCase& one : out) one.must_be_new = one.must_be_new && number != 0;
  return out;
}

}  // namespace evolve
