// A compiled program, run by the model. The steps analyze and trace share this file. The program
// comes from a candidate, and so do the sizes, names and contents of its dumps and operands. So any
// fault in them is a reason why there is no model of the program, never an error.
#pragma once

#include <string>
#include <variant>

#include "engine/core/outside_json.h"
#include "engine/core/result.h"
#include "engine/core/text/plain_text.h"
#include "engine/ir/model/calibration.h"
#include "engine/ir/model/cut_names.h"
#include "engine/ir/model/program.h"
#include "engine/steps/child.h"
#include "engine/steps/step.h"
#include "engine/world/archive.h"

namespace evolve::steps {

struct CompiledFiles {
  std::string report;     // of the compile step
  std::string dumps;      // of the compile step
  std::string operands;   // of the kernels; empty: not known
  std::string constants;  // of the device's model; empty: the model's own
  std::string target;
  std::string out;

  void add_options(CommandLine& line) {
    line.add("--compile", report, "the compile step's report").required();
    line.add("--dumps", dumps, "the packed dumps of the compile step").required();
    line.add("--target", target, "the device").required();
    line.add("--operands", operands, "the values of the kernels' operands; not for a baseline");
    line.add("--constants", constants, "constants for the device's model, instead of its own");
    line.add("--out", out, "the file to write").required();
  }
};

struct Compiled {
  ir::Dumps dumps;
  ir::Device device;
  // The model's run, or why there is no run: a report's "verdict", "kind" and "reason".
  std::variant<ir::ProgramRun, nlohmann::json> run;
};

// The maximum number of bytes of the dumps, which is more than any real compilation dumps.
constexpr size_t kMostDumpBytes = size_t{1} << 30;

inline nlohmann::json not_modelled(const std::string& reason) {
  constexpr size_t kMostReason = 300;
  return {
      {"verdict", "rejected"}, {"kind", "not_modelled"}, {"reason", one_line(reason, kMostReason)}};
}

inline Result<ir::Device> read_device(const CompiledFiles& files) {
  auto device = ir::find_device(files.target);
  if (!device) return bad_input(fmt::format("target '{}' has no model", files.target));
  if (files.constants.empty()) return *device;
  TRY_ASSIGN(auto constants, read_json(files.constants));
  auto with = ir::with_constants(*device, constants);
  if (!with) return std::move(with).error().within(files.constants);
  return with;
}

// Reads the operands that a candidate's kernels are given. Bad input: the operands cannot be read.
inline Result<ir::ProgramInput> read_input(const std::string& path) {
  if (path.empty()) return ir::ProgramInput();
  TRY_ASSIGN(auto text, world::read_file(path));
  auto document = parse_outside(text);
  if (!document) return std::move(document).error().within("its operands");
  auto input = ir::read_operands(*document);
  if (!input) return bad_input("the operands: " + input.error().message);
  return input;
}

// Runs the program in the model. Bad input: the model cannot run it.
inline Result<ir::ProgramRun> run_compiled(const CompiledFiles& files, Compiled& compiled) {
  auto dumps = world::read_archive(files.dumps, kMostDumpBytes);
  if (!dumps && dumps.error().code == ErrorCode::bad_input)
    return bad_input(fmt::format("the dumps are larger than {} bytes", kMostDumpBytes));
  if (!dumps) return std::move(dumps).error();
  const auto names = ir::whole_names(*dumps);
  compiled.dumps = ir::with_whole_names(*std::move(dumps), names);
  TRY_ASSIGN(auto input, read_input(files.operands));
  auto run = ir::run_program(compiled.dumps, compiled.device, input);
  if (!run) return bad_input(run.error().message);
  if (!run->not_modelled.empty()) {
    // The time of the other modules is not the program's time.
    const auto& [module, why] = *run->not_modelled.begin();
    return bad_input(fmt::format("'{}' is left out: {}", module, why));
  }
  return run;
}

inline Result<Compiled> read_compiled(const CompiledFiles& files) {
  TRY_ASSIGN(auto report, read_json(files.report));
  TRY_ASSIGN(auto device, read_device(files));
  Compiled compiled{{}, device, nlohmann::json{{"verdict", "not_reached"}}};
  if (report.value("verdict", "") != "ok") return compiled;
  auto run = run_compiled(files, compiled);
  if (run) {
    compiled.run = *std::move(run);
  } else if (run.error().code == ErrorCode::bad_input) {
    compiled.run = not_modelled(run.error().message);
  } else {
    return std::move(run).error();
  }
  return compiled;
}

// Runs `work`, which writes the report, in a child process. If `work` does not come to an end,
// `write` gets a report that says so.
inline Status judge_compiled(const std::function<Status()>& work,
                             const std::function<Status(const nlohmann::json&)>& write) {
  TRY_ASSIGN(auto problem, in_child(work));
  return problem ? write(not_modelled("the model did not finish: " + *problem)) : Status{};
}

}  // namespace evolve::steps
