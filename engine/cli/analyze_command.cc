// `evolve analyze`: the model's facts on dumps from any source, and the measured times in a
// device's traces.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/device_trace.h"
#include "engine/app/dump_reader.h"
#include "engine/campaign/target.h"
#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/core/result.h"
#include "engine/ir/compare.h"
#include "engine/ir/facts.h"
#include "engine/ir/facts_json.h"
#include "engine/report/analyze_text.h"
#include "engine/report/device_trace_text.h"
#include "engine/report/facts_page.h"
#include "engine/report/output.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

struct AnalyzeCommand {
  // Folders of dumps, archives of the compile step, or dumps; or else traces, or folders of traces.
  std::vector<std::string> paths;
  std::string device{default_target().model};
  std::string constants;             // a file of the model's constants; empty: the device's
  std::string operands;              // a JSON file, see engine/ir/model/operands.h; empty: none
  std::vector<std::string> operand;  // "0=sizes.npy": an operand by its number
  std::string html;                  // file for a page about the one program; empty: none
  std::string kernel;                // only the program with this kernel; empty: all
  double flops = 0;                  // by the spec's formula; 0: not known
  double bytes = 0;
  TraceQuestion trace;
};

// Returns the kernel that takes most of the time.
std::string main_kernel(const ir::ProgramRun& run) {
  auto most = std::max_element(
      run.kernels.begin(), run.kernels.end(),
      [](const auto& a, const auto& b) { return a.all_cycles() < b.all_cycles(); });
  return most->name;
}

// Returns the facts of every program whose dumps are at the paths.
Result<std::vector<ir::Facts>> facts_of_all(const AnalyzeCommand& command,
                                            const std::vector<std::string>& paths) {
  TRY_ASSIGN(auto device, read_device(command.device, command.constants));
  TRY_ASSIGN(auto input, read_operand_files(command.operands, command.operand));
  TRY_ASSIGN(auto programs, read_programs_of(paths));
  std::vector<ir::Facts> all;
  for (const ReadProgram& program : programs) {
    if (!command.kernel.empty() && !program.has_kernel(command.kernel)) continue;
    auto run = ir::run_program(program.dumps, device, input);
    if (!run) return in_dump(run.error(), program.paths);
    auto facts = ir::facts_of(*run, program.dumps, {command.flops, command.bytes}, device);
    if (!facts) return in_dump(facts.error(), program.paths);
    if (!command.html.empty()) {
      if (!all.empty())
        return bad_input("--html writes a page about one program, and there are several", "",
                         "name the program's kernel with --kernel NAME");
      std::string title = command.kernel.empty() ? main_kernel(*run) : command.kernel;
      auto status = world::write_file_atomic(command.html, facts_page(*facts, *run, device, title));
      if (!status) return std::move(status).error();
    }
    all.push_back(*std::move(facts));
  }
  if (!all.empty()) return all;
  if (!command.kernel.empty())
    return bad_input(fmt::format("no program has a kernel named '{}'", command.kernel));
  return bad_input(fmt::format("{}: the dumps contain no schedule", paths.front()), "",
                   "libtpu writes the schedule with LIBTPU_INIT_ARGS=--xla_jf_dump_to=DIR");
}

Result<ir::Facts> facts_of_one(const AnalyzeCommand& command, const std::string& path) {
  if (!find_traces(path).empty())
    return bad_input(fmt::format("{}: is a trace: diff compares only dumps and facts.json", path),
                     "", "evolve analyze shows traces");
  if (path.ends_with(".json")) {
    TRY_ASSIGN(auto record, read_json_file(path));
    if (!record.is_object() || !record.contains("by_cause"))
      return bad_input(fmt::format("{}: does not contain the facts of a modelled program", path));
    auto facts = ir::facts_from_json(record);
    if (facts) return facts;
    return bad_input(
        fmt::format("the facts have an unknown form: {}: {}", path, facts.error().message), "",
        "'evolve analyze --json' writes the facts again");
  }
  TRY_ASSIGN(auto all, facts_of_all(command, {path}));
  if (all.size() > 1)
    return bad_input(fmt::format("{}: the dumps contain {} programs", path, all.size()), "",
                     "select the program with --kernel NAME");
  return std::move(all.front());
}

// Returns an option that the user gave and that is only for dumps; empty: no such option.
std::string option_of_dumps(const AnalyzeCommand& command) {
  const AnalyzeCommand usual;
  if (command.device != usual.device) return "--device";
  if (!command.constants.empty()) return "--constants";
  if (!command.operands.empty()) return "--operands";
  if (!command.operand.empty()) return "--operand";
  if (!command.html.empty()) return "--html";
  if (!command.kernel.empty()) return "--kernel";
  if (command.flops != 0) return "--flops";
  return command.bytes != 0 ? "--bytes" : "";
}

// Prints the report on the traces. Failed: the traces cannot be believed, or they do not show the
// program that was asked for.
Status analyze_traces(const std::vector<std::string>& traces, const TraceQuestion& question,
                      bool json_wanted) {
  TRY_ASSIGN(auto report, read_traces(traces, question));
  print_out(json_wanted ? json_block(report) + "\n" : device_trace_text(report));
  if (report["verdict"] == "ok") return {};
  return failed(report["reason"].get<std::string>());
}

// Returns an option that the user gave and that is only for traces; empty: no such option.
std::string option_of_traces(const TraceQuestion& question) {
  if (!question.module.empty()) return "--module";
  if (question.runs != 0) return "--runs";
  return question.floor != 0 ? "--floor" : "";
}

// Prints the facts of each program among the dumps, or the report on the traces, for people or as
// JSON.
Status run_analyze(const AnalyzeCommand& command, bool json_wanted) {
  std::vector<std::string> traces;
  std::string other;  // a path to dumps
  for (const std::string& path : command.paths) {
    auto found = find_traces(path);
    if (found.empty()) other = path;
    traces.insert(traces.end(), found.begin(), found.end());
  }
  if (!traces.empty() && !other.empty())
    return bad_input(fmt::format("{} is a trace and {} is not: measured times and modelled facts "
                                 "cannot be shown together",
                                 traces.front(), other),
                     "", "name only traces, or only dumps");
  std::string option = traces.empty() ? option_of_traces(command.trace) : option_of_dumps(command);
  if (!option.empty())
    return bad_input(fmt::format("{} is an option for {}, but got {}", option,
                                 traces.empty() ? "traces" : "dumps", command.paths.front()));
  if (!traces.empty()) return analyze_traces(traces, command.trace, json_wanted);
  TRY_ASSIGN(auto all, facts_of_all(command, command.paths));
  if (json_wanted) {
    json list = json::array();
    for (const ir::Facts& facts : all) list.push_back(ir::to_json(facts));
    print_out(json_block(list) + "\n");
    return {};
  }
  std::string text;
  for (const ir::Facts& facts : all) text += (text.empty() ? "" : "\n") + facts_text(facts);
  print_out(text);
  return {};
}

// Prints the changes from the first of two paths to the second. Each path has one program's dumps,
// or is a file of facts ("facts.json").
Status run_analyze_diff(const AnalyzeCommand& command, bool json_wanted) {
  TRY_ASSIGN(auto before, facts_of_one(command, command.paths.front()));
  TRY_ASSIGN(auto after, facts_of_one(command, command.paths.back()));
  const ir::FactsComparison comparison = ir::compare_facts(before, after);
  print_out(json_wanted ? json_block(ir::to_json(comparison)) + "\n" : comparison_text(comparison));
  return {};
}

void add_options(Parser command, AnalyzeCommand& options) {
  command.add("--device", options.device,
              fmt::format("the TPU to model (default: {})", options.device));
  command.add("--constants", options.constants,
              "the constants of the TPU's model: a file that 'evolve model calibrate' wrote "
              "(default: built in)");
  command.add("--operands", options.operands,
              "a JSON file with the operands that the kernels' control flow depends on");
  command
      .add("--operand", options.operand,
           "one operand: NUMBER=FILE.npy or NUMBER=FILE.json; may be given several times")
      .repeated();
  command.add("--kernel", options.kernel, "use only the program with this kernel");
  command.add("--flops", options.flops,
              "the program's number of floating-point operations, by the spec's formula");
  command.add("--bytes", options.bytes,
              "the least number of bytes that the program must move, by the spec's formula");
}

}  // namespace

void add_analyze(Commands& commands) {
  auto analyze = commands.add(
      "analyze",
      "show where a program's time goes, from libtpu's dumps or a device's traces: diff");
  auto options = std::make_shared<AnalyzeCommand>();
  analyze.add("path", options->paths,
              "libtpu's dumps, a folder of them, or a compile step's archive; or a device's traces "
              "(*.xplane.pb), or the folder into which JAX's profiler wrote them");
  analyze.add("--module", options->trace.module,
              "for traces: show only this program, for example jit_f");
  analyze
      .add("--runs", options->trace.runs,
           "for traces: fail unless each device that ran the program has exactly this many "
           "accepted executions")
      .between(1, 1'000'000'000);
  analyze
      .add("--floor", options->trace.floor,
           "for traces: reject executions that are shorter than this many seconds")
      .at_least(0);
  auto diff = analyze.add_command("diff", "show what changed between two programs, by cause");
  diff.add("path", options->paths,
           "the two programs: for each, its dumps, or a facts.json that a build wrote")
      .required()
      .values(2);
  analyze.add("--html", options->html,
              "for dumps: write an HTML page about the program to this file");
  for (Parser command : {analyze, diff}) {
    add_options(command, *options);
    commands.add_folder_and_json(command);
  }
  commands.on(analyze, [options](const CommonOptions& common) -> Status {
    if (options->paths.empty())
      return bad_input("analyze: the path of dumps or traces is missing", "", "evolve analyze DIR");
    return run_analyze(*options, common.json);
  });
  commands.on(diff, [options](const CommonOptions& common) {
    return run_analyze_diff(*options, common.json);
  });
}

}  // namespace evolve::cli
