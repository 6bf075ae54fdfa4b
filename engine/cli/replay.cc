#include "engine/cli/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/cli/judge.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/cli/state.h"
#include "engine/cli/verify.h"
#include "engine/world/files.h"
#include "engine/world/guard.h"
#include "engine/world/signals.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Where a recorded file goes below a folder: what steps made as it lay in the campaign's folder,
// sources as they lay in the project.
std::string place_of(const std::string& path, bool is_source) {
  constexpr std::string_view kWork = "$work/";
  if (path.starts_with(kWork) && !is_source) return path.substr(kWork.size());
  const std::string below = path.starts_with('$') ? path.substr(1) : path;
  return is_source ? "sources/" + below : below;
}

// The folder to write into: an empty one.
Result<std::string> fresh_folder(const std::string& given, const std::string& usual) {
  std::error_code error;
  if (given.empty()) {
    fs::remove_all(usual, error);  // of an earlier replay
    return usual;
  }
  if (fs::exists(given, error) && !fs::is_empty(given, error)) {
    return bad_input(fmt::format("{}: is not empty", given), "", "--out takes a new folder");
  }
  return fs::absolute(given).lexically_normal().string();
}

// A folder that appears whole or not at all.
class WholeFolder {
 public:
  explicit WholeFolder(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.tmp{}", path, ::getpid())) {}
  ~WholeFolder() {
    std::error_code error;
    fs::remove_all(temporary_, error);
  }
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  // Where to fill it.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  Status appear() {
    std::error_code error;
    fs::rename(temporary_, path_, error);
    return error ? world::system_error("rename", path_, error.value()) : Status{};
  }

 private:
  std::string path_;
  std::string temporary_;
};

Status replay_files(const CommonOptions& common, const PastRound& past, State& state,
                    const std::string& folder) {
  Placer placer(state);
  WholeFolder whole(folder);
  auto place = [&](const RecordedFile& file, bool is_source) {
    return placer.place(file, whole.temporary(), place_of(file.path, is_source));
  };
  for (const RecordedFile& file : past.record.sources) {
    TRY(place(file, true));
  }
  for (const RecordedStep& step : past.record.steps) {
    for (const RecordedFile& file : step.outputs) {
      TRY(place(file, false));
    }
  }
  TRY(placer.end());
  TRY(whole.appear());
  print_result(common,
               {{"round", past.stored.round},
                {"campaign", past.stored.campaign},
                {"record", past.stored.id},
                {"recorded", past.stored.recorded},
                {"steps", past.record.steps.size()},
                {"files", placer.placed()},
                {"folder", folder}},
               fmt::format("{}, record {} of {}: {} steps, {} files, byte for byte, in {}\n",
                           past.name(), past.stored.id, past.stored.recorded,
                           past.record.steps.size(), placer.placed(), folder));
  return {};
}

std::string described(const RecordedStep& step) {
  return fmt::format("{} {}", step.step, step.subject);
}

Status compare_records(const CommonOptions& common, const PastRound& a, const PastRound& b,
                       cache::SqliteLedger& ledger) {
  const std::string names = fmt::format("records {} and {}", a.stored.id, b.stored.id);
  auto parting = first_parting(a.record, b.record);
  if (!parting) {
    print_result(common, {{"same", true}, {"steps", a.record.steps.size()}},
                 fmt::format("{} are the same: {} steps\n", names, a.record.steps.size()));
    return {};
  }
  const RecordedStep& step = parting->a ? *parting->a : *parting->b;
  std::vector<std::string> reasons;
  switch (parting->kind) {
    case Parting::Kind::missing: reasons = {fmt::format("only {} has it", a.stored.id)}; break;
    case Parting::Kind::added: reasons = {fmt::format("only {} has it", b.stored.id)}; break;
    case Parting::Kind::bytes: reasons = {"the same action gave other bytes"}; break;
    case Parting::Kind::key: {
      TRY_ASSIGN(auto before, ledger.recall_any(parting->a->key));
      TRY_ASSIGN(auto after, ledger.recall_any(parting->b->key));
      if (!before || !after) break;
      for (const KeyChange& change : changes_between(before->parts, after->parts)) {
        reasons.push_back(text_of(change));
      }
      break;
    }
  }
  print_result(
      common,
      {{"same", false}, {"step", step.step}, {"subject", step.subject}, {"reasons", reasons}},
      fmt::format("{} part at {}: {}\n", names, described(step), fmt::join(reasons, "; ")));
  return {};
}

}  // namespace

Status run_replay(const CommonOptions& common, const ReplayCommand& command) {
  // Before any file is open: the guard must not hold what is not its own.
  std::optional<world::Guard> guard;
  const bool runs = command.verify || command.remeasure || command.times > 0;
  if (runs) {
    world::watch_interrupts();
    TRY_ASSIGN(auto started, world::Guard::start());
    guard.emplace(std::move(started));
  }
  TRY_ASSIGN(auto records, open_past(common));
  TRY_ASSIGN(auto past, records.load(command.round, command.record));
  if (command.against > 0) {
    TRY_ASSIGN(auto other, records.load("", command.against));
    return compare_records(common, past, other, *records.state->ledger);
  }
  Judge judge = Judge::recorded;
  if (runs) {
    TRY_ASSIGN(auto choice, choose_judge(past, *records.state, command.their_judge));
    judge = choice.judge;
    if (!choice.warning.empty()) print_warning(choice.warning, common.color);
  }
  const std::string usual = fmt::format("{}/replay/{}-round-{}{}", records.state->folder,
                                        past.stored.campaign, past.stored.round,
                                        command.remeasure ? "-remeasure"
                                        : runs            ? "-verify"
                                                          : "");
  TRY_ASSIGN(auto folder, fresh_folder(command.out, usual));
  if (!runs) return replay_files(common, past, *records.state, folder);
  const Machine machine = {*guard, command.jobs};
  if (command.times > 0) {
    return check_determinism(common, past, *records.state, machine, folder, command.times, judge);
  }
  if (command.remeasure) return remeasure(common, past, *records.state, machine, folder, judge);
  return verify(common, past, *records.state, machine, folder, judge);
}

}  // namespace evolve::cli
