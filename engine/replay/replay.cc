#include "engine/replay/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/state.h"
#include "engine/core/key_change.h"
#include "engine/replay/judge.h"
#include "engine/replay/verify.h"
#include "engine/report/output.h"
#include "engine/world/files.h"
#include "engine/world/process/guard.h"
#include "engine/world/signals.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Returns the place of a recorded file below a folder. A step's file has the same place as in the
// campaign's folder. A source has the same place as in the project, but below `sources`.
std::string place_of(const std::string& path, bool is_source) {
  constexpr std::string_view kBelowWork = "$work/";
  if (path.starts_with(kBelowWork) && !is_source) return path.substr(kBelowWork.size());
  const std::string below = path.starts_with('$') ? path.substr(1) : path;
  return is_source ? "sources/" + below : below;
}

// Returns an empty or new folder to write into.
Result<std::string> fresh_folder(const std::string& given, const std::string& usual) {
  std::error_code error;
  if (given.empty()) {
    fs::remove_all(usual, error);  // from an earlier replay
    return usual;
  }
  if (fs::exists(given, error) && !fs::is_empty(given, error)) {
    return bad_input(fmt::format("{}: is not empty", given), "",
                     "--out needs a new or an empty folder");
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

  // The folder to fill before appear().
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

Result<Answer> replay_files(const PastRound& past, State& state, const std::string& folder) {
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
  return Answer{{{"round", past.stored.round},
                 {"campaign", past.stored.campaign},
                 {"record", past.stored.id},
                 {"recorded", past.stored.recorded},
                 {"steps", past.record.steps.size()},
                 {"files", placer.placed()},
                 {"folder", folder}},
                fmt::format("{}, record {} of {}: {} steps, {} files, byte for byte, in {}\n",
                            past.name(), past.stored.id, past.stored.recorded,
                            past.record.steps.size(), placer.placed(), folder)};
}

std::string described(const RecordedStep& step) {
  return fmt::format("{} {}", step.step, step.subject);
}

Result<Answer> compare_records(const PastRound& a, const PastRound& b, cache::RoundTable& log) {
  const std::string names = fmt::format("records {} and {}", a.stored.id, b.stored.id);
  auto parting = first_parting(a.record, b.record);
  if (!parting) {
    return Answer{{{"same", true}, {"steps", a.record.steps.size()}},
                  fmt::format("{} are the same: {} steps\n", names, a.record.steps.size())};
  }
  const RecordedStep& step = parting->a ? *parting->a : *parting->b;
  std::vector<std::string> reasons;
  switch (parting->kind) {
    case Parting::Kind::missing:
      reasons = {fmt::format("only record {} has this step", a.stored.id)};
      break;
    case Parting::Kind::added:
      reasons = {fmt::format("only record {} has this step", b.stored.id)};
      break;
    case Parting::Kind::bytes: reasons = {"the same action gave different bytes"}; break;
    case Parting::Kind::key: {
      TRY_ASSIGN(auto before, log.recall_any(parting->a->key));
      TRY_ASSIGN(auto after, log.recall_any(parting->b->key));
      if (!before || !after) break;
      for (const KeyChange& change : changes_between(before->parts, after->parts)) {
        reasons.push_back(text_of(change));
      }
      break;
    }
  }
  return Answer{
      {{"same", false}, {"step", step.step}, {"subject", step.subject}, {"reasons", reasons}},
      fmt::format("{} first differ in {}: {}\n", names, described(step), fmt::join(reasons, "; "))};
}

}  // namespace

Result<Answer> replay(const CampaignFlags& common, const ReplayRequest& request,
                      const Display& display) {
  // The guard starts before any file is open, because it must not hold files that are not its own.
  std::optional<world::GuardProcess> guard;
  const bool runs = request.verify || request.remeasure || request.times > 0;
  if (runs) {
    world::watch_interrupts();
    TRY_ASSIGN(auto started, world::GuardProcess::start());
    guard.emplace(std::move(started));
  }
  TRY_ASSIGN(auto records, open_past(common));
  TRY_ASSIGN(auto past, records.load(request.round, request.record));
  if (request.against > 0) {
    TRY_ASSIGN(auto other, records.load("", request.against));
    return compare_records(past, other, records.state->ledger->rounds());
  }
  Judge judge = Judge::recorded;
  if (runs) {
    TRY_ASSIGN(auto choice, choose_judge(past, *records.state, request.their_judge));
    judge = choice.judge;
    if (!choice.warning.empty()) common.warn(choice.warning);
  }
  const std::string usual = fmt::format("{}/replay/{}-round-{}{}", records.state->folder,
                                        past.stored.campaign, past.stored.round,
                                        request.remeasure ? "-remeasure"
                                        : runs            ? "-verify"
                                                          : "");
  TRY_ASSIGN(auto folder, fresh_folder(request.out, usual));
  if (!runs) return replay_files(past, *records.state, folder);
  const Machine machine = {*guard, request.jobs, display};
  if (request.times > 0) {
    return check_determinism(common, past, *records.state, machine, folder, request.times, judge);
  }
  if (request.remeasure) return remeasure(common, past, *records.state, machine, folder, judge);
  return verify(common, past, *records.state, machine, folder, judge);
}

}  // namespace evolve
