// Step time, without a device: the modelled time of the facts, labelled as such.
#include "engine/steps/step.h"

int main(int argc, char** argv) {
  using namespace evolve;
  CLI::App app("modelled time of a compiled program", "time");
  std::string facts_path, out;
  app.add_option("--facts", facts_path, "the analyze step's facts")->required();
  app.add_option("--out", out, "time.json")->required();
  return steps::run_step(app, argc, argv, [&]() -> Status {
    auto facts = steps::read_json(facts_path);
    if (!facts) return std::move(facts).error();
    if (facts->value("verdict", "") != "ok") {
      return steps::write_json(out, {{"kind", "modelled"}, {"verdict", "not_reached"}});
    }
    const nlohmann::json& modelled = facts->at("modelled");
    return steps::write_json(out, {{"kind", "modelled"},
                                   {"verdict", "ok"},
                                   {"device", facts->at("target")},
                                   {"model", facts->at("model")},
                                   {"seconds", modelled.at("seconds")},
                                   {"low", modelled.at("low")},
                                   {"high", modelled.at("high")}});
  });
}
