// Step time: a compiled program's time, and what kind of time it is. Without a device the modelled
// time of the facts; or what a measure step's samples say of the program beside its anchor.
#include <algorithm>
#include <vector>

#include "engine/search/decision.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;
using nlohmann::json;

json modelled_time(const json& facts) {
  if (facts.value("verdict", "") != "ok") {
    return {{"kind", "modelled"}, {"verdict", "not_reached"}};
  }
  const json& modelled = facts.at("modelled");
  return {{"kind", "modelled"},
          {"verdict", "ok"},
          {"device", facts.at("target")},
          {"model", facts.at("model")},
          {"seconds", modelled.at("seconds")},
          {"low", modelled.at("low")},
          {"high", modelled.at("high")}};
}

// The middle one of all samples of a program.
double median_of(const search::Samples& samples, std::array<double, 2> search::Block::*program) {
  std::vector<double> all;
  for (const auto& blocks : samples.processes) {
    for (const search::Block& block : blocks) {
      for (double seconds : block.*program) all.push_back(seconds);
    }
  }
  auto middle = all.begin() + static_cast<long>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

Result<json> measured_time(const json& record, const std::string& path) {
  const std::string verdict = record.value("verdict", "");
  if (verdict == "not_reached") return json{{"kind", "measured"}, {"verdict", verdict}};
  // What a program was turned down for while it was measured.
  if (verdict == "rejected") return record;
  auto samples = search::read_samples(record, path);
  if (!samples) return std::move(samples).error();
  const search::Decision decision = search::decide(*samples, {});
  const std::string comparison = search::comparison_name(decision.comparison);
  if (decision.comparison == search::Comparison::not_comparable) {
    return json{{"verdict", "rejected"}, {"kind", "suspicious"}, {"reason", decision.reason}};
  }
  json out = {{"kind", "measured"},
              {"verdict", "ok"},
              {"device", samples->device},
              {"protocol", samples->protocol},
              {"seconds", median_of(*samples, &search::Block::candidate)},
              {"seed_seconds", median_of(*samples, &search::Block::anchor)},
              {"ratio", decision.ratio},
              {"low", decision.low},
              {"high", decision.high},
              {"comparison", comparison}};
  if (!decision.reason.empty()) out["reason"] = decision.reason;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("the time of a compiled program", "time");
  std::string facts, samples, out;
  auto* of_facts = app.add_option("--facts", facts, "the analyze step's facts: modelled time");
  app.add_option("--samples", samples, "the measure step's samples: measured time")
      ->excludes(of_facts);
  app.add_option("--out", out, "time.json")->required();
  return steps::run_step(app, argc, argv, [&]() -> Status {
    const std::string& path = samples.empty() ? facts : samples;
    auto record = steps::read_json(path);
    if (!record) return std::move(record).error();
    if (samples.empty()) return steps::write_json(out, modelled_time(*record));
    auto time = measured_time(*record, path);
    return time ? steps::write_json(out, *time) : std::move(time).error();
  });
}
