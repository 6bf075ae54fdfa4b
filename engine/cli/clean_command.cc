// `evolve clean`: removes a campaign's work folder, which a build restores.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/campaign.h"
#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/report/output.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Removes the campaign's work folder, and with `all` the memo and the blobs too; never the ledger.
Status run_clean(const CommonOptions& common, bool all, bool dry_run) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  std::vector<std::string> paths = {campaign.work};
  if (all) {
    for (const char* name : {"memo.db", "memo.db-wal", "memo.db-shm", "blobs"}) {
      paths.push_back(campaign.state + "/" + name);
    }
  }
  json removed = json::array();
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (!dry_run) fs::remove_all(path, error);
    if (error) return world::system_error("remove", path, error.value());
    removed.push_back(path);
  }
  if (common.json) {
    print_out(json_block(json{{"removed", removed}, {"dry_run", dry_run}}) + "\n");
    return {};
  }
  for (const json& path : removed) {
    print_out(
        fmt::format("{} {}\n", dry_run ? "would remove" : "removed", path.get<std::string>()));
  }
  if (removed.empty()) print_out("nothing to clean\n");
  return {};
}

}  // namespace

void add_clean(Commands& commands) {
  struct Options {
    bool all = false;
    bool dry_run = false;
  };
  auto command = commands.add("clean", "remove the campaign's work files; a build restores them");
  auto options = std::make_shared<Options>();
  command.add("--all", options->all,
              "also remove the stored results of all campaigns in the state folder; the "
              "record of rounds stays");
  command.add("-n,--dry-run", options->dry_run, "print what would be removed, but remove nothing");
  commands.add_common(command);
  commands.on(command, [options](const CommonOptions& common) {
    return run_clean(common, options->all, options->dry_run);
  });
}

}  // namespace evolve::cli
