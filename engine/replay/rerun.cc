#include "engine/replay/rerun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "engine/app/machine.h"
#include "engine/app/models_file.h"
#include "engine/app/recording.h"
#include "engine/app/toolchain.h"
#include "engine/core/path.h"
#include "engine/core/text/plain_text.h"
#include "engine/report/progress.h"
#include "engine/world/files.h"
#include "engine/world/process/runner.h"

namespace evolve {

namespace fs = std::filesystem;

Status Placer::place(const RecordedFile& file, const std::string& folder, const std::string& to) {
  // The reader of records rejects paths that lead outside. This check is the last before the disk.
  if (!is_below(to)) return bad_input(fmt::format("{}: leads outside of {}", file.path, folder));
  const std::string at = folder + "/" + to;
  const std::string above =
      file.content == folder_digest() ? at : fs::path(at).parent_path().string();
  TRY(files_.make_folders(above));
  if (file.content == folder_digest()) return {};
  TRY_ASSIGN(auto is_there, blobs_.fetch(file.content, at));
  if (!is_there) gone_.push_back(file.path);
  ++placed_;
  return {};
}

Status Placer::end() const {
  if (gone_.empty()) return {};
  Error error = external(fmt::format("the contents of {} of {} files are gone: {}", gone_.size(),
                                     placed_, gone_.front()));
  error.hint = "build the round again to restore the files";
  return error;
}

std::string Conditions::text() const {
  std::string out;
  for (const auto& [name, value] : environment) out += fmt::format(" {}={}", name, value);
  return fmt::format("{} -j{}", out.substr(out.empty() ? 0 : 1), jobs);
}

Conditions default_conditions() {
  Conditions out;
  out.python = fs::absolute(find_python(find_rules())).lexically_normal().string();
  return out;
}

Result<Record> Rerun::run(const std::string& folder) {
  TRY(lay_out(folder));
  TRY_ASSIGN(auto kind, device_kind());
  campaign_.device_kind = std::move(kind);
  TRY_ASSIGN(auto opened, open_state(campaign_.state, Sharing::names, warning_));
  state_ = std::move(opened);
  state_->ledger->set_campaign(campaign_.name);
  TRY_ASSIGN(auto graph, read_manifest(campaign_, past_.record.toolchain));
  graph_ = std::move(graph);
  TRY(check_steps());
  TRY(take_over());
  TRY_ASSIGN(auto targets, this->targets());
  Snapshot snapshot;
  Lookup lookup(*graph_, state_->files, *state_->memo, *state_->ledger, snapshot,
                {campaign_.machine(), process_environment()});
  lookup.results().confirm(models_keys(past_.record));
  TRY_ASSIGN(auto summary, build_anew(targets, lookup));
  summary_ = std::move(summary);
  if (summary_.failed > 0) {
    return failed(fmt::format("{}: {} steps failed that passed before; see {}", past_.name(),
                              summary_.failed, folder));
  }
  BuildPlan plan(*graph_, targets);
  return record_of(*graph_, plan.wanted_edges(), lookup);
}

bool Rerun::runs(const RecordedStep& step) const {
  return step.step_class ==
         (steps_to_run_ == StepsToRun::pure_steps ? StepClass::pure : StepClass::measured);
}

Status Rerun::lay_out(const std::string& folder) {
  campaign_.name = past_.stored.campaign;
  campaign_.state = ".evolve";
  campaign_.work = ".evolve/" + campaign_.name;
  campaign_.rules = "rules";
  campaign_.steps = "steps";
  campaign_.python = conditions_.python;
  TRY(check_bindings(campaign_));
  Placer placer(from_);
  for (const RecordedFile& file : past_.record.sources) {
    const std::string path = path_of_recorded(file.path);
    if (path.starts_with("$outside/")) {
      return bad_input(fmt::format(
          "{}: lies outside of the project, so its results cannot be reproduced elsewhere",
          plain_line(path)));
    }
    const std::string at = machine_path(path, campaign_.machine());
    // A source must not lie in the state folder, because that folder belongs to the run.
    if (!path.starts_with('$') && at.starts_with(campaign_.state + "/")) {
      return bad_input(fmt::format("{}: lies in the state folder of the replay", file.path));
    }
    TRY(placer.place(file, folder, at));
  }
  TRY(placer.end());
  std::error_code error;
  fs::current_path(folder, error);
  if (error) return world::system_error("chdir", folder, error.value());
  if (judge_ == Judge::own) {
    TRY(check_commands(past_, campaign_.rounds()));
  }
  TRY_ASSIGN(auto toolchain, read_toolchain(campaign_.python, "rules"));
  if (toolchain.versions == past_.record.toolchain) return {};
  return bad_input(fmt::format("the record was made with another toolchain: {}; found {}",
                               past_.record.toolchain, toolchain.versions));
}

Result<std::string> Rerun::device_kind() {
  if (steps_to_run_ == StepsToRun::measurements) return cpu_kind();
  for (const RecordedStep& step : past_.record.steps) {
    if (step.step_class != StepClass::measured) continue;
    TRY_ASSIGN(auto result, from_.ledger->rounds().recall_any(step.key));
    if (!result) break;
    for (const KeyPart& part : result->parts) {
      if (part.tag == "device_kind") return part.value;
    }
  }
  return std::string();
}

Status Rerun::check_steps() const {
  const auto machine = campaign_.machine();
  std::map<std::string, const RecordedStep*> recorded;
  for (const RecordedStep& step : past_.record.steps) recorded[step.outputs.front().path] = &step;
  auto wrong = [&](const std::string& what) {
    return bad_input(
        fmt::format("{}: the record does not match its commands: {}", past_.name(), what));
  };
  if (recorded.size() != past_.record.steps.size()) return wrong("a step appears twice");
  const std::vector<std::string> names = {fmt::format("round-{}", past_.stored.round)};
  TRY_ASSIGN(auto targets, graph_->targets(names));
  const BuildPlan plan(*graph_, targets);
  for (EdgeId id : plan.wanted_edges()) {
    const Edge& edge = graph_->edge(id);
    if (edge.is_phony()) continue;
    auto step = recorded.extract(symbolic_path(graph_->path(edge.outputs.front()), machine));
    const std::string name =
        fmt::format("{} {}", graph_->extension(id, "step"), graph_->extension(id, "subject"));
    if (!step) return wrong(fmt::format("{} is missing", name));
    const RecordedStep& its = *step.mapped();
    const Extensions& extensions = graph_->extensions(id);
    if (its.step_class != extensions.step_class) {
      return wrong(fmt::format("{} is {}, not {}", name, class_name(extensions.step_class),
                               class_name(its.step_class)));
    }
    const bool is_same =
        fmt::format("{} {}", its.step, its.subject) == name &&
        std::equal(its.outputs.begin(), its.outputs.end(), edge.outputs.begin(), edge.outputs.end(),
                   [&](const RecordedFile& file, NodeId node) {
                     return file.path == symbolic_path(graph_->path(node), machine);
                   });
    if (!is_same) return wrong(fmt::format("{} differs from the record", name));
  }
  if (recorded.empty()) return {};
  const RecordedStep& other = *recorded.begin()->second;
  return wrong(fmt::format("no command for {} {}", other.step, other.subject));
}

Status Rerun::take_over() {
  for (const RecordedStep& step : past_.record.steps) {
    if (runs(step)) continue;
    TRY(take_over(step));
    ++taken_over_;
  }
  return {};
}

// Takes a step's result from the ledger, because a new run would give another result, or because no
// new run is wanted.
Status Rerun::take_over(const RecordedStep& step) {
  TRY_ASSIGN(auto result, from_.ledger->rounds().recall_any(step.key));
  if (!result) {
    return external(fmt::format("{} {}: {}, and no longer in the ledger", step.step, step.subject,
                                class_name(step.step_class)));
  }
  Placer placer(from_);
  for (const RecordedFile& file : step.outputs) {
    const std::string at = machine_path(file.path, campaign_.machine());
    TRY(placer.place(file, ".", at));
    TRY(placer.end());
    TRY(state_->blobs->put_file(at, file.content));
  }
  // The ledger's result may come from another run under the same key. An action without inputs,
  // such as the action that draws a secret, gives another result each time. So the outputs are
  // taken from the record.
  result->outputs.clear();
  for (const RecordedFile& file : step.outputs) result->outputs.push_back(file.content);
  return state_->memo->put(*result);
}

Result<std::vector<NodeId>> Rerun::targets() const {
  std::vector<std::string> names;
  if (steps_to_run_ == StepsToRun::pure_steps) {
    names.push_back(fmt::format("round-{}", past_.stored.round));
  } else {
    for (const RecordedStep& step : past_.record.steps) {
      if (runs(step)) {
        names.push_back(machine_path(step.outputs.front().path, campaign_.machine()));
      }
    }
  }
  return graph_->targets(names);
}

Result<BuildSummary> Rerun::build_anew(const std::vector<NodeId>& targets, Lookup& lookup) {
  BuildOptions options;
  options.jobs = machine_.jobs > 0 ? machine_.jobs : usable_cores();
  if (conditions_.jobs > 0) options.jobs = conditions_.jobs;
  options.order_seed = conditions_.order_seed;
  options.capacity = with_memory({});
  options.command_environment = conditions_.environment;
  options.command_environment.merge(command_environment());
  if (auto temporary = conditions_.environment.find("TMPDIR");
      temporary != conditions_.environment.end()) {
    TRY(state_->files.make_folders(temporary->second));
  }
  world::LocalRunner runner(machine_.guard, state_->clock);
  Progress progress(machine_.display.style, machine_.display.color, options.jobs, state_->clock);
  auto summary = build(*graph_, targets, lookup,
                       {state_->files, *state_->blobs, *state_->memo, *state_->ledger,
                        *state_->claims, runner, state_->clock, progress},
                       options);
  progress.clear();
  runner.stop();
  return summary;
}

Result<std::string> Rerun::bytes_before(const RecordedFile& file) {
  const std::string at = machine_path(file.path, campaign_.machine()) + ".recorded";
  Placer placer(from_);
  TRY(placer.place(file, ".", at));
  TRY(placer.end());
  return state_->files.read(at);
}

Result<std::string> Rerun::bytes_now(const RecordedFile& file) {
  return state_->files.read(machine_path(file.path, campaign_.machine()));
}

}  // namespace evolve
