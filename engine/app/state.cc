#include "engine/app/state.h"

#include <unistd.h>

#include "engine/world/files.h"

namespace evolve {

Result<std::unique_ptr<State>> open_state(const std::string& folder, Sharing sharing,
                                          std::string& warning) {
  auto state = std::make_unique<State>();
  state->folder = folder;
  TRY(state->files.make_folders(folder));
  // Git ignores the folder, because it holds the judge's secret and nothing for a repository.
  const std::string ignore = folder + "/.gitignore";
  if (!world::is_there(ignore) && ::access(folder.c_str(), W_OK) == 0) {
    TRY(state->files.write(ignore, "*\n"));
  }
  TRY_ASSIGN(auto ledger, cache::SqliteLedger::open(folder + "/ledger.db", warning));
  state->ledger = std::move(ledger);
  TRY_ASSIGN(auto memo, cache::SqliteMemo::open(folder + "/memo.db", warning));
  state->memo = std::move(memo);
  state->blobs = std::make_unique<cache::FolderBlobStore>(folder + "/blobs", state->files, sharing);
  state->claims = std::make_unique<world::FileClaims>(folder + "/claims");
  return state;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string text = *variable;
    size_t equals = text.find('=');
    if (equals != std::string::npos) out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

std::map<std::string, std::string> command_environment() {
  auto process = process_environment();
  std::map<std::string, std::string> out = {{"LC_ALL", "C.UTF-8"},
                                            {"PYTHONDONTWRITEBYTECODE", "1"},
                                            {"PYTHONHASHSEED", "0"},
                                            {"PYTHONNOUSERSITE", "1"},
                                            {"TZ", "UTC"}};
  for (const char* name : {"PATH", "HOME", "TMPDIR"}) {
    if (process.contains(name)) out[name] = process[name];
  }
  return out;
}

}  // namespace evolve
