#include "engine/cli/ninja/ninja_records.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/ninja/messages.h"

namespace evolve::cli {

namespace {

std::string records_folder(const Graph& graph) {
  const char* shared = std::getenv("EVOLVE_STATE");
  if (shared != nullptr && *shared != '\0') return shared;
  std::string builddir(graph.root_scope().get("builddir"));
  return builddir.empty() ? ".evolve" : builddir + "/.evolve";
}

}  // namespace

std::vector<MachineBinding> machine_paths() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  std::vector<MachineBinding> out = {{"folder", here.string()}};
  const char* named = std::getenv("EVOLVE_BASE");
  if (named != nullptr && *named != '\0') {
    out.push_back({"root", std::filesystem::absolute(named, error).lexically_normal().string()});
    return out;
  }
  for (auto folder = here; folder.has_relative_path(); folder = folder.parent_path()) {
    if (!std::filesystem::exists(folder / ".git", error)) continue;
    if (folder != here) out.push_back({"root", folder.string()});
    break;
  }
  return out;
}

Result<std::unique_ptr<State>> open_records(const Graph& graph) {
  std::string warning;
  auto records = open_state(records_folder(graph), Sharing::bytes, warning);
  if (records && !warning.empty()) ninja::print_warning(warning);
  return records;
}

Result<std::vector<EdgeRecord>> last_records(const Graph& graph) {
  const std::string path = records_folder(graph) + "/ledger.db";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::vector<EdgeRecord>{};
  std::string warning;
  TRY_ASSIGN(auto ledger, cache::SqliteLedger::open(path, warning));
  if (!warning.empty()) ninja::print_warning(warning);
  auto records = ledger->builds().last_edges();
  if (!records) return records;
  const auto machine = machine_paths();
  for (EdgeRecord& record : *records) {
    record.output = machine_path(record.output, machine);
    auto& discovered = record.result.discovered;
    std::erase_if(discovered, [&](const std::string& one) { return is_binding(one, machine); });
    for (std::string& one : discovered) one = machine_path(one, machine);
  }
  return records;
}

}  // namespace evolve::cli
