#include "engine/cli/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/cli/progress.h"
#include "engine/cli/state.h"
#include "engine/cli/verify.h"
#include "engine/world/guard.h"
#include "engine/world/signals.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

Result<Replayed> load_record(cache::SqliteLedger& ledger, cache::StoredRecord stored) {
  Replayed out;
  out.stored = std::move(stored);
  std::vector<Record> rounds;
  for (auto next = std::optional(out.stored); next;) {
    auto record = decode_record(next->text);
    if (!record) return std::move(record).error().within(fmt::format("record {}", next->id));
    rounds.push_back(*std::move(record));
    if (next->before == 0) break;
    auto before = ledger.find_record(next->before);
    if (!before) return std::move(before).error();
    if (!*before || (*before)->id >= next->id) {
      return external(fmt::format("record {}: that of the round before it is gone", next->id));
    }
    next = *std::move(before);
  }
  std::reverse(rounds.begin(), rounds.end());
  for (const Record& round : rounds) add_to(out.record, round);
  return out;
}

Result<Replayed> load_record(cache::SqliteLedger& ledger, int64_t id) {
  auto stored = ledger.find_record(id);
  if (!stored) return std::move(stored).error();
  if (!*stored) return bad_input(fmt::format("the ledger has no record {}", id), "", "evolve log");
  return load_record(ledger, **std::move(stored));
}

Result<Replayed> load_record(cache::SqliteLedger& ledger, const std::string& campaign,
                             const std::string& round) {
  std::vector<std::string> known;
  std::optional<cache::StoredRecord> last;
  for (int number = 1;; ++number) {
    auto stored = ledger.last_record(campaign, number);
    if (!stored) return std::move(stored).error();
    if (!*stored) break;
    known.push_back(fmt::format("round-{}", number));
    last = *std::move(stored);
    if (known.back() == round) break;
  }
  if (!last) {
    return bad_input(fmt::format("no round of {} was recorded", campaign), "",
                     "evolve build round-1");
  }
  if (!round.empty() && known.back() != round) {
    return bad_input(fmt::format("'{}' was not recorded, {} was the last", round, known.back()), "",
                     "evolve build " + round);
  }
  return load_record(ledger, *std::move(last));
}

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

Status replay_files(const CommonOptions& common, const Replayed& replayed, State& state,
                    const std::string& folder) {
  Placer placer(state);
  auto place = [&](const RecordedFile& file, bool is_source) {
    return placer.place(file, folder + "/" + place_of(file.path, is_source));
  };
  for (const RecordedFile& file : replayed.record.sources) {
    if (auto status = place(file, true); !status) return status;
  }
  for (const RecordedStep& step : replayed.record.steps) {
    for (const RecordedFile& file : step.outputs) {
      if (auto status = place(file, false); !status) return status;
    }
  }
  if (auto status = placer.end(); !status) return status;
  print_result(common,
               {{"round", replayed.stored.round},
                {"campaign", replayed.stored.campaign},
                {"record", replayed.stored.id},
                {"recorded", replayed.stored.recorded},
                {"steps", replayed.record.steps.size()},
                {"files", placer.placed()},
                {"folder", folder}},
               fmt::format("{}, record {} of {}: {} steps, {} files, byte for byte, in {}\n",
                           replayed.name(), replayed.stored.id, replayed.stored.recorded,
                           replayed.record.steps.size(), placer.placed(), folder));
  return {};
}

std::string described(const RecordedStep& step) {
  return fmt::format("{} {}", step.step, step.subject);
}

Status compare_records(const CommonOptions& common, const Replayed& a, const Replayed& b,
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
      auto before = ledger.recall(parting->a->key);
      if (!before) return std::move(before).error();
      auto after = ledger.recall(parting->b->key);
      if (!after) return std::move(after).error();
      if (*before && *after) reasons = describe_changes((*before)->parts, (*after)->parts);
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
  if (command.verify) {
    world::watch_interrupts();
    auto started = world::Guard::start();
    if (!started) return std::move(started).error();
    guard.emplace(*std::move(started));
  }
  auto place = find_campaign(common.campaign);
  if (!place) return std::move(place).error();
  std::error_code error;
  if (!fs::exists(place->state + "/ledger.db", error)) {
    return bad_input(fmt::format("{}: nothing was built here", place->state), "",
                     "evolve build round-1");
  }
  std::string warning;
  auto state = open_state(place->state, Sharing::names, warning);
  if (!state) return std::move(state).error();
  if (!warning.empty()) print_warning(warning, common.color);
  cache::SqliteLedger& ledger = *(*state)->ledger;
  if (place->name.empty()) {
    auto campaigns = ledger.campaigns();
    if (!campaigns) return std::move(campaigns).error();
    if (campaigns->size() != 1) {
      return bad_input(campaigns->empty() ? "no round was recorded here"
                                          : fmt::format("which campaign? there are {}",
                                                        fmt::join(*campaigns, ", ")),
                       "", "name its pipeline with -p");
    }
    place->name = campaigns->front();
  }
  auto replayed = command.record > 0 ? load_record(ledger, command.record)
                                     : load_record(ledger, place->name, command.round);
  if (!replayed) return std::move(replayed).error();
  if (command.against > 0) {
    auto other = load_record(ledger, command.against);
    if (!other) return std::move(other).error();
    return compare_records(common, *replayed, *other, ledger);
  }
  const std::string usual =
      fmt::format("{}/replay/{}-round-{}{}", place->state, replayed->stored.campaign,
                  replayed->stored.round, command.verify ? "-verify" : "");
  auto folder = fresh_folder(command.out, usual);
  if (!folder) return std::move(folder).error();
  if (!command.verify) return replay_files(common, *replayed, **state, *folder);
  return verify(common, *replayed, **state, {*guard, command.jobs}, *folder);
}

}  // namespace evolve::cli
