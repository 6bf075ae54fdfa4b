// What analyze and trace read alike: a compiled program, run by the model.
#pragma once

#include <string>
#include <variant>

#include "engine/core/result.h"
#include "engine/ir/calibration.h"
#include "engine/ir/program.h"
#include "engine/steps/step.h"
#include "engine/world/archive.h"

namespace evolve::steps {

struct Compiled {
  ir::Dumps dumps;
  ir::Device device;
  // The model's run; or why there is none: a report's "verdict", "kind" and "reason".
  std::variant<ir::ProgramRun, nlohmann::json> run;
};

// More than any real compilation dumps.
constexpr size_t kMostDumpBytes = size_t{1} << 30;

// `operands_path` may be empty: then nothing is known of what the kernels are given. So may
// `constants_path`: then they are those of the device.
inline Result<Compiled> read_compiled(const std::string& report_path, const std::string& dumps_path,
                                      const std::string& operands_path, const std::string& target,
                                      const std::string& constants_path) {
  auto report = read_json(report_path);
  if (!report) return std::move(report).error();
  auto device = ir::find_device(target);
  if (!device) return bad_input(fmt::format("target '{}' has no model", target));
  if (!constants_path.empty()) {
    auto constants = read_json(constants_path);
    if (!constants) return std::move(constants).error();
    auto with = ir::with_constants(*device, *constants);
    if (!with) return std::move(with).error().within(constants_path);
    device = *with;
  }
  Compiled compiled{{}, *device, nlohmann::json{{"verdict", "not_reached"}}};
  if (report->value("verdict", "") != "ok") return compiled;
  auto dumps = world::read_archive(dumps_path, kMostDumpBytes);
  if (!dumps) return std::move(dumps).error();
  compiled.dumps = *std::move(dumps);
  ir::ProgramInput input;
  if (!operands_path.empty()) {
    auto document = read_json(operands_path);
    if (!document) return std::move(document).error();
    auto read = ir::read_operands(*document);
    if (!read) return std::move(read).error();
    input = *std::move(read);
  }
  auto run = ir::run_program(compiled.dumps, *device, input);
  if (run && !run->not_modelled.empty()) {
    // The time of the others is no time of the program's.
    const auto& [module, why] = *run->not_modelled.begin();
    compiled.run = nlohmann::json{{"verdict", "rejected"},
                                  {"kind", "not_modelled"},
                                  {"reason", fmt::format("'{}' is left out: {}", module, why)}};
  } else if (run) {
    compiled.run = *std::move(run);
  } else {
    compiled.run = nlohmann::json{
        {"verdict", "rejected"}, {"kind", "not_modelled"}, {"reason", run.error().message}};
  }
  return compiled;
}

}  // namespace evolve::steps
