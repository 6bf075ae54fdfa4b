#include "engine/replay/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "engine/app/campaign.h"
#include "engine/core/path.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

constexpr size_t kMostNamed = 5;

// Returns a source's path. A path in the project's own folder `rules` or `steps` gets a "$" in
// front, because a round that is run again has its judge there.
std::string symbolic(const std::string& path) {
  const bool is_judge = path.starts_with("rules/") || path.starts_with("steps/");
  return is_judge ? "$" + path : path;
}

constexpr const char* kTheirsHint =
    "--their-judge runs the programs and commands that came with the round, unchanged, on this "
    "machine";

// Whether this version writes the text `rounds` for the pipeline at `path`. The current folder must
// be the pipeline's root, and every file that the pipeline names must lie below it. Changes the
// current folder while it runs, and then changes it back.
bool is_written_for(const std::string& path, bool is_local, const std::string& rounds) {
  const auto folder = std::filesystem::current_path();
  auto campaign = open_campaign({.pipeline = path, .is_local = is_local});
  const auto root = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  if (!campaign || root != folder) return false;
  const auto paths = campaign->shape.files.all();
  return std::all_of(paths.begin(), paths.end(), [](const auto& its) { return is_below(its); }) &&
         write_rounds(campaign->shape) == rounds;
}

std::string text_of(const std::vector<std::string>& names) {
  const auto end = names.begin() + static_cast<long>(std::min(names.size(), kMostNamed));
  std::string out = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (names.size() > kMostNamed) out += fmt::format(" and {} more", names.size() - kMostNamed);
  return out;
}

}  // namespace

Result<std::vector<std::string>> differing_judge(const Record& record,
                                                 const std::vector<MachineBinding>& own,
                                                 Files& files) {
  std::vector<std::string> out;
  for (const RecordedFile& file : record.sources) {
    const std::string path = symbolic(file.path);
    if (!path.starts_with("$rules/") && !path.starts_with("$steps/")) continue;
    TRY_ASSIGN(auto digest, files.digest(machine_path(path, own)));
    if (!digest || *digest != file.content) out.push_back(path);
  }
  return out;
}

Result<JudgeChoice> choose_judge(const PastRound& past, State& state, bool is_theirs_wanted) {
  TRY_ASSIGN(auto is_imported, state.ledger->rounds().is_imported(past.stored.id));
  if (!is_imported) return JudgeChoice{};
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::vector<MachineBinding> own = {
      {"rules", find_rules(std::filesystem::current_path().string())},
      {"steps", (program / "steps").string()}};
  TRY_ASSIGN(auto differing, differing_judge(past.record, own, state.files));
  if (differing.empty()) return JudgeChoice{is_theirs_wanted ? Judge::theirs : Judge::own, ""};
  const std::string what =
      fmt::format("{}: was imported, and its judge differs from this version's: {}", past.name(),
                  text_of(differing));
  if (!is_theirs_wanted) return bad_input(what, "", kTheirsHint);
  return JudgeChoice{Judge::theirs, what};
}

Status check_commands(const PastRound& past, const std::string& rounds) {
  TRY_ASSIGN(auto recorded, world::read_file(rounds));
  for (const RecordedFile& file : past.record.sources) {
    const bool is_yaml = file.path.ends_with(".yaml") || file.path.ends_with(".yml");
    if (!is_yaml || file.path.starts_with('$')) continue;
    for (const bool is_local : {false, true}) {
      if (is_written_for(file.path, is_local, recorded)) return {};
    }
  }
  return bad_input(fmt::format("{}: was imported, and its commands differ from those that this "
                               "version writes for its pipeline",
                               past.name()),
                   "", kTheirsHint);
}

}  // namespace evolve
