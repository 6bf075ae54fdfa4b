#include "engine/cli/verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "engine/build.h"
#include "engine/cli/campaign.h"
#include "engine/cli/machine.h"
#include "engine/cli/progress.h"
#include "engine/cli/recording.h"
#include "engine/cli/report.h"
#include "engine/cli/toolchain.h"
#include "engine/world/runner.h"
#include "engine/world/terminal.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// What the surroundings of a run are, which no step's bytes may depend on.
struct Surrounding {
  std::string python;                              // the interpreter's absolute path
  std::map<std::string, std::string> environment;  // in place of the usual variables
  uint64_t order_seed = 0;
  int jobs = 0;  // 0: as is asked for

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [name, value] : environment) out += fmt::format(" {}={}", name, value);
    return fmt::format("{} -j{}", out.substr(out.empty() ? 0 : 1), jobs);
  }
};

std::string absolute_python() {
  return fs::absolute(find_python()).lexically_normal().string();
}

Surrounding surrounding_of(int run, const std::string& folder, const std::string& python) {
  static constexpr std::array kZones = {"America/St_Johns", "Asia/Kathmandu", "UTC",
                                        "Pacific/Chatham"};
  static constexpr std::array kLocales = {"C", "POSIX", "C.UTF-8"};
  const auto number = static_cast<size_t>(run);
  Surrounding out;
  out.python = python;
  out.environment = {{"PYTHONHASHSEED", std::to_string(run)},
                     {"TZ", kZones[number % kZones.size()]},
                     {"LC_ALL", kLocales[number % kLocales.size()]},
                     {"HOME", folder},
                     {"TMPDIR", folder + "/tmp"},
                     {"PATH", folder + "/nothing:" + command_environment()["PATH"]}};
  out.order_seed = number;
  // One at a time, and several.
  out.jobs = run % 2 == 1 ? 1 : usable_cores() + 1;
  return out;
}

// Some bytes, for people: 'ab.' or, where they are no text, in hex.
std::string shown_bytes(std::string_view bytes) {
  constexpr size_t kShown = 12;
  bytes = bytes.substr(0, kShown);
  const bool is_text = std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return c == '\n' || std::isprint(static_cast<unsigned char>(c)) != 0;
  });
  std::string out;
  for (char c : bytes) {
    if (!is_text) {
      out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c == '\n' ? "\\n" : std::string(1, c);
    }
  }
  return bytes.empty() ? "the end" : is_text ? fmt::format("'{}'", out) : out;
}

// What a run anew gave.
struct Comparison {
  json differences = json::array();
  size_t pure = 0;   // steps
  size_t facts = 0;  // measured or recorded ones, as they were
  int ran = 0;       // commands
  int behind = 0;    // steps behind those that differ
  [[nodiscard]] bool is_same() const { return differences.empty() && behind == 0; }
};

std::string text_of(const json& differences) {
  std::string out;
  for (const json& one : differences) {
    out += fmt::format("differs: {} {}: {}\n", one["step"].get<std::string>(),
                       one["subject"].get<std::string>(), one["where"].get<std::string>());
    if (one.contains("run")) out += fmt::format("  {}\n", one["run"].get<std::string>());
  }
  return out;
}

// "$work/x: first at byte 12, line 3: 'a' -> 'b'"
std::string first_difference(const RecordedFile& file, const std::string& was,
                             const std::string& now) {
  const size_t most = std::min(was.size(), now.size());
  const auto at = static_cast<size_t>(
      std::mismatch(was.begin(), was.begin() + static_cast<long>(most), now.begin()).first -
      was.begin());
  std::string out = fmt::format("{}: first at byte {}", file.path, at);
  if (was.find('\0') == std::string::npos) {
    out += fmt::format(", line {}",
                       1 + std::count(was.begin(), was.begin() + static_cast<long>(at), '\n'));
  }
  return fmt::format("{}: {} -> {}", out, shown_bytes(std::string_view(was).substr(at)),
                     shown_bytes(std::string_view(now).substr(at)));
}

// Runs a recorded round anew in a project of its own.
class Verification {
 public:
  Verification(const CommonOptions& common, const PastRound& past, State& from,
               const Machine& machine, Surrounding surrounding)
      : common_(common),
        past_(past),
        from_(from),
        machine_(machine),
        surrounding_(std::move(surrounding)) {}

  Result<Comparison> run(const std::string& folder) {
    if (auto status = lay_out(folder); !status) return std::move(status).error();
    auto opened = open_state(campaign_.state, Sharing::names, warning_);
    if (!opened) return std::move(opened).error();
    state_ = *std::move(opened);
    if (auto status = take_over_facts(); !status) return std::move(status).error();
    auto graph = read_manifest(campaign_, past_.record.toolchain);
    if (!graph) return std::move(graph).error();
    graph_ = *std::move(graph);
    const std::vector<std::string> names = {fmt::format("round-{}", past_.stored.round)};
    auto targets = graph_->targets(names);
    if (!targets) return std::move(targets).error();
    Snapshot snapshot;
    Lookup lookup(*graph_, state_->files, *state_->memo, *state_->ledger, snapshot,
                  {campaign_.machine(), process_environment()});
    auto summary = build_anew(*targets, lookup);
    if (!summary) return std::move(summary).error();
    if (summary->failed > 0) {
      return failed(fmt::format("{}: {} steps failed that had not, see {}", past_.name(),
                                summary->failed, folder));
    }
    Plan plan(*graph_, *targets);
    auto record = record_of(*graph_, plan.wanted_edges(), lookup);
    if (!record) return std::move(record).error();
    return compare(*record, *summary);
  }

 private:
  // Puts the sources where a project has them, and goes there.
  Status lay_out(const std::string& folder) {
    campaign_.name = past_.stored.campaign;
    campaign_.state = ".evolve";
    campaign_.work = ".evolve/" + campaign_.name;
    campaign_.rules = "rules";
    campaign_.steps = "steps";
    campaign_.python = surrounding_.python;
    Placer placer(from_);
    for (const RecordedFile& file : past_.record.sources) {
      if (file.path.starts_with("$outside/")) {
        return bad_input(
            fmt::format("{}: lies outside of the project: what was made from it "
                        "cannot be made elsewhere",
                        file.path));
      }
      const std::string at = machine_path(file.path, campaign_.machine());
      if (auto status = placer.place(file, fmt::format("{}/{}", folder, at)); !status)
        return status;
    }
    if (auto status = placer.end(); !status) return status;
    std::error_code error;
    fs::current_path(folder, error);
    if (error) return world::system_error("chdir", folder, error.value());
    auto toolchain = read_toolchain(campaign_.python, "rules/requirements.lock");
    if (!toolchain) return std::move(toolchain).error();
    if (toolchain->versions == past_.record.toolchain) return {};
    return bad_input(fmt::format("the record is of another toolchain: {}; here is {}",
                                 past_.record.toolchain, toolchain->versions));
  }

  // What no run can give again is taken from the ledger.
  Status take_over_facts() {
    for (const RecordedStep& step : past_.record.steps) {
      if (step.step_class == StepClass::pure) continue;
      auto result = from_.ledger->recall_any(step.key);
      if (!result) return std::move(result).error();
      if (!*result) {
        return external(fmt::format("{} {}: {}, and not in the ledger any more", step.step,
                                    step.subject, class_name(step.step_class)));
      }
      Placer placer(from_);
      for (const RecordedFile& file : step.outputs) {
        const std::string at = machine_path(file.path, campaign_.machine());
        if (auto status = placer.place(file, at); !status) return status;
        if (auto status = placer.end(); !status) return status;
        if (auto status = state_->blobs->put_file(at, file.content); !status) return status;
      }
      if (auto status = state_->memo->put(**result); !status) return status;
      ++facts_;
    }
    return {};
  }

  Result<BuildSummary> build_anew(const std::vector<NodeId>& targets, Lookup& lookup) {
    BuildOptions options;
    options.jobs = machine_.jobs > 0 ? machine_.jobs : usable_cores();
    if (surrounding_.jobs > 0) options.jobs = surrounding_.jobs;
    options.order_seed = surrounding_.order_seed;
    options.capacity = with_memory({});
    options.command_environment = surrounding_.environment;
    options.command_environment.merge(command_environment());
    if (auto temporary = surrounding_.environment.find("TMPDIR");
        temporary != surrounding_.environment.end()) {
      auto made = state_->files.make_folders(temporary->second);
      if (!made) return std::move(made).error();
    }
    world::LocalRunner runner(machine_.guard, state_->clock);
    const bool is_live = world::is_terminal(STDERR_FILENO) && !common_.json;
    Progress progress(is_live ? ProgressStyle::live : ProgressStyle::quiet, common_.color,
                      options.jobs, state_->clock);
    auto summary = build(*graph_, targets, lookup,
                         {state_->files, *state_->blobs, *state_->memo, *state_->ledger,
                          *state_->claims, runner, state_->clock, progress},
                         options);
    progress.clear();
    runner.stop();
    return summary;
  }

  // What differs, and where it begins to. What follows from a difference is counted.
  Result<Comparison> compare(const Record& record, const BuildSummary& summary) {
    std::map<std::string, const RecordedStep*> anew;
    for (const RecordedStep& step : record.steps) anew[step.outputs.front().path] = &step;
    Comparison out;
    out.facts = facts_;
    out.pure = past_.record.steps.size() - facts_;
    out.ran = summary.ran;
    for (const RecordedStep& step : past_.record.steps) {
      auto other = anew.find(step.outputs.front().path);
      if (other == anew.end() || other->second->key != step.key) {
        ++out.behind;
        continue;
      }
      if (other->second->outputs == step.outputs) continue;
      auto where = differing_place(step, *other->second);
      if (!where) return std::move(where).error();
      out.differences.push_back(
          {{"step", step.step}, {"subject", step.subject}, {"where", *where}});
    }
    return out;
  }

  Result<std::string> differing_place(const RecordedStep& was, const RecordedStep& now) {
    for (size_t i = 0; i < was.outputs.size(); ++i) {
      if (was.outputs[i] == now.outputs[i]) continue;
      const std::string at = machine_path(was.outputs[i].path, campaign_.machine());
      auto new_bytes = state_->files.read(at);
      if (!new_bytes) return std::move(new_bytes).error();
      Placer placer(from_);
      if (auto status = placer.place(was.outputs[i], at + ".recorded"); !status) {
        return std::move(status).error();
      }
      auto old_bytes = state_->files.read(at + ".recorded");
      if (!old_bytes) return std::move(old_bytes).error();
      return first_difference(was.outputs[i], *old_bytes, *new_bytes);
    }
    return std::string("nowhere");
  }

  const CommonOptions& common_;
  const PastRound& past_;
  State& from_;
  const Machine& machine_;
  Surrounding surrounding_;
  Campaign campaign_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Graph> graph_;
  std::string warning_;
  size_t facts_ = 0;
};

}  // namespace

Status Placer::place(const RecordedFile& file, const std::string& to) {
  std::string folder = fs::path(to).parent_path().string();
  if (file.content == folder_digest()) folder = to;
  if (auto status = files_.make_folders(folder); !status) return status;
  if (file.content == folder_digest()) return {};
  auto is_there = blobs_.fetch(file.content, to);
  if (!is_there) return std::move(is_there).error();
  if (!*is_there) gone_.push_back(file.path);
  ++placed_;
  return {};
}

Status Placer::end() const {
  if (gone_.empty()) return {};
  Error error = external(fmt::format("the bytes of {} of {} files are gone: {}", gone_.size(),
                                     placed_, gone_.front()));
  error.hint = "a build of the round makes them anew";
  return error;
}

Status verify(const CommonOptions& common, const PastRound& past, State& from,
              const Machine& machine, const std::string& folder) {
  Surrounding usual;
  usual.python = absolute_python();
  auto found = Verification(common, past, from, machine, usual).run(folder);
  if (!found) return std::move(found).error();
  std::string text = text_of(found->differences);
  text += fmt::format("{}, record {}: {} pure steps anew, in {} commands", past.name(),
                      past.stored.id, found->pure, found->ran);
  if (found->facts > 0) {
    text += fmt::format(", {} measured or recorded ones as they were", found->facts);
  }
  text += fmt::format(": {} differences", found->differences.size());
  if (found->behind > 0) text += fmt::format(", and {} steps behind them", found->behind);
  print_result(common,
               {{"round", past.stored.round},
                {"campaign", past.stored.campaign},
                {"record", past.stored.id},
                {"pure_steps", found->pure},
                {"commands_run", found->ran},
                {"facts", found->facts},
                {"steps_behind", found->behind},
                {"differences", found->differences}},
               text + "\n");
  if (found->is_same()) return {};
  return failed(fmt::format("{}: does not repeat; what was made is in {}", past.name(), folder));
}

Status check_determinism(const CommonOptions& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, int times) {
  json differences = json::array();
  size_t pure = 0;
  bool is_same = true;
  // Each run leaves another current folder.
  const std::string python = absolute_python();
  for (int run = 1; run <= times; ++run) {
    // Paths of other lengths, too.
    const std::string its =
        fmt::format("{}/{}", folder, std::string(static_cast<size_t>(run), 'x'));
    const Surrounding surrounding = surrounding_of(run, its, python);
    auto found = Verification(common, past, from, machine, surrounding).run(its);
    if (!found) return std::move(found).error();
    pure = found->pure;
    is_same = is_same && found->is_same();
    for (json& one : found->differences) {
      one["run"] = surrounding.text();
      differences.push_back(std::move(one));
    }
  }
  print_result(common,
               {{"round", past.stored.round},
                {"campaign", past.stored.campaign},
                {"record", past.stored.id},
                {"pure_steps", pure},
                {"runs", times},
                {"differences", differences}},
               text_of(differences) + fmt::format("{}: {} pure steps, {} times: {} differences\n",
                                                  past.name(), pure, times, differences.size()));
  if (is_same) return {};
  return failed(
      fmt::format("{}: is not deterministic; what was made is in {}", past.name(), folder));
}

}  // namespace evolve::cli
