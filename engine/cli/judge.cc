#include "engine/cli/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "engine/cli/campaign.h"

namespace evolve::cli {

namespace {

constexpr size_t kMostNamed = 5;

// A project's own folders of these names are where a record that is run anew has its judge.
std::string symbolic(const std::string& path) {
  const bool is_judge = path.starts_with("rules/") || path.starts_with("steps/");
  return is_judge ? "$" + path : path;
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
    auto digest = files.digest(machine_path(path, own));
    if (!digest) return std::move(digest).error();
    if (!*digest || **digest != file.content) out.push_back(path);
  }
  return out;
}

Result<std::string> check_judge(const PastRound& past, State& state, bool is_theirs_wanted) {
  auto is_imported = state.ledger->is_imported(past.stored.id);
  if (!is_imported) return std::move(is_imported).error();
  if (!*is_imported) return std::string();
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::vector<MachineBinding> own = {
      {"rules", find_rules(std::filesystem::current_path().string())},
      {"steps", (program / "steps").string()}};
  auto differing = differing_judge(past.record, own, state.files);
  if (!differing) return std::move(differing).error();
  const std::string what =
      differing->empty() ? std::string()
                         : fmt::format("{}: was imported, and its judge is not this version's: {}",
                                       past.name(), text_of(*differing));
  if (is_theirs_wanted) return what;
  return bad_input(
      what.empty()
          ? fmt::format("{}: was imported, and so were the commands of its steps", past.name())
          : what,
      "",
      "--their-judge runs the programs and commands that came with it, as they are, on this "
      "machine");
}

}  // namespace evolve::cli
