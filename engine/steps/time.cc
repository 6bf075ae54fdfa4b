// Step time: a compiled program's time, and the kind of this time. Without a device the time is the
// modelled time of the facts. With a device it is the measured time, from a measure step's samples
// of the program and its anchor.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/json_read.h"
#include "engine/ir/facts_json.h"
#include "engine/search/selection/decision.h"
#include "engine/steps/needs.h"

namespace {

using namespace evolve;
using nlohmann::json;

// Returns the time of facts.json. Bad input: the record has another form.
Result<json> modelled_time(const json& record, const std::string& path) {
  if (record.value("verdict", "") != "ok") {
    return json{{"kind", "modelled"}, {"verdict", "not_reached"}};
  }
  // A number that is not finite is null in a file.
  if (!(number_in(at_place(record, "/modelled/seconds")) > 0)) {
    return json{{"verdict", "rejected"},
                {"kind", "suspicious"},
                {"reason", "the modelled time is not above 0"}};
  }
  auto facts = ir::facts_from_json(record);
  if (!facts) return std::move(facts).error().within(path);
  const ir::ModelledTime& modelled = facts->modelled;
  json out = {{"kind", "modelled"},          {"verdict", "ok"},
              {"device", facts->target},     {"model", facts->model},
              {"seconds", modelled.seconds}, {"low", modelled.low},
              {"high", modelled.high},       {"work", ir::to_json(facts->work)}};
  // Only a kernel whose control flow depends on data has this time. The kernel is ranked by the
  // dearer side.
  if (modelled.cheaper_seconds) out["cheaper_seconds"] = *modelled.cheaper_seconds;
  // A baseline has no contract, so its needs are not known.
  if (facts->needed) out["needed"] = ir::to_json(*facts->needed);
  return out;
}

// Returns the middle sample of a program. Of two middle samples, returns the longer one.
double median_of(const search::Samples& samples, std::array<double, 2> search::Block::*program) {
  std::vector<double> all;
  for (const auto& blocks : samples.runs) {
    for (const search::Block& block : blocks) {
      for (double seconds : block.*program) all.push_back(seconds);
    }
  }
  auto middle = all.begin() + static_cast<long>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

struct Records {
  json samples;
  std::string samples_path;
  json screening;  // null: no short measurement
  std::string screening_path;
};

// The facts about a case that its times are judged by.
struct Case {
  json cost;
  std::optional<ir::Needs> needs;  // nullopt: a baseline, which has no contract
};

// The minimum time that a call of the case can take on the measured device. A sample below it is
// wrong, not fast.
struct Floor {
  double seconds = 0;
  std::string of;  // where the floor comes from, for people
};

// Returns the floor on a device. For a device that has a model ("tpu7x: …") it is the roofline. For
// a processor no roofline is known, only a bound far below any time that can be reached. The bound
// takes the floating-point operations of the formula at a rate that no single core reaches today:
// two tiles of AMX a cycle (2,048 operations on bfloat16) at 6 GHz.
Floor floor_of(const std::string& device_kind, const json& cost,
               const std::optional<ir::Needs>& needs) {
  constexpr double kMostPerSecond = 2048 * 6e9;
  const auto device = ir::find_device(device_kind.substr(0, device_kind.find(':')));
  if (device && needs)
    return {ir::least_seconds(*needs, *device), fmt::format("the roofline of {}", device->name)};
  return {cost.value("flops", 0.0) / kMostPerSecond,
          "the roofline of this device is unknown: using cost.flops at 1.2e13 a second"};
}

// Returns the time that samples give; without samples, the record's verdict.
Result<json> time_of(const json& record, const std::string& path, const Case& of) {
  const std::string verdict = record.value("verdict", "");
  if (verdict == "not_reached") return json{{"kind", "measured"}, {"verdict", verdict}};
  // The program was rejected while it was measured, and the record says why.
  if (verdict == "rejected") return record;
  TRY_ASSIGN(auto samples, search::read_samples(record, path));
  const Floor floor = floor_of(samples.device, of.cost, of.needs);
  search::DecisionRule rule;
  rule.floor_seconds = floor.seconds;
  const search::Decision decision = search::decide(samples, rule);
  const std::string comparison = search::comparison_name(decision.comparison);
  if (decision.comparison == search::Comparison::not_comparable) {
    return json{{"verdict", "rejected"}, {"kind", "suspicious"}, {"reason", decision.reason}};
  }
  json out = {{"kind", "measured"},
              {"verdict", "ok"},
              {"device", samples.device},
              {"protocol", samples.protocol},
              {"seconds", median_of(samples, &search::Block::candidate)},
              {"seed_seconds", median_of(samples, &search::Block::anchor)},
              {"comparison", comparison},
              {"floor", {{"seconds", floor.seconds}, {"of", floor.of}}}};
  out.update(search::ratio_record(decision.ratio));
  if (!decision.reason.empty()) out["reason"] = decision.reason;
  return out;
}

// Takes the time from the longer measurement. If the variant was out of the race, takes it from the
// short one, and marks it as not confirmed.
Result<json> measured_time(const Records& records, const Case& of) {
  const bool is_confirmed =
      records.screening.is_null() || records.samples.value("verdict", "") != "not_reached";
  auto out = is_confirmed ? time_of(records.samples, records.samples_path, of)
                          : time_of(records.screening, records.screening_path, of);
  if (out && out->value("verdict", "") == "ok") (*out)["confirmed"] = is_confirmed;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("time", "report the time of a compiled program");
  std::string facts, out, cost_path, terms, signature;
  Records records;
  auto of_facts = line.add("--facts", facts, "the analyze step's facts, for modelled time");
  line.add("--samples", records.samples_path, "the measure step's samples, for measured time")
      .excludes(of_facts);
  line.add("--screening", records.screening_path, "the samples of the short measurement");
  line.add("--cost", cost_path, "least cost of the case");
  auto given_terms = line.add("--terms", terms, "the case's contract; not for a baseline");
  line.add("--signature", signature, "the case's inputs and outputs").needs(given_terms);
  line.add("--out", out, "time.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status {
    json of_facts_record, cost = json::object();
    for (const auto& [path, record] : {std::pair(&facts, &of_facts_record),
                                       {&records.samples_path, &records.samples},
                                       {&records.screening_path, &records.screening},
                                       {&cost_path, &cost}}) {
      if (path->empty()) continue;
      TRY_ASSIGN(auto read, steps::read_json(*path));
      *record = std::move(read);
    }
    if (!facts.empty()) {
      TRY_ASSIGN(auto time, modelled_time(of_facts_record, facts));
      return steps::write_json(out, time);
    }
    Case of{cost, std::nullopt};
    if (!terms.empty()) {
      TRY_ASSIGN(auto needs, steps::read_needs(cost, terms, signature));
      of.needs = needs;
    }
    auto time = measured_time(records, of);
    return time ? steps::write_json(out, *time) : std::move(time).error();
  });
}
