#include "engine/cli/ninja_records.h"

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

Result<std::unique_ptr<Records>> open_records(const Graph& graph) {
  auto records = std::make_unique<Records>();
  const std::string folder = records_folder(graph);
  if (auto status = records->files.make_folders(folder); !status) return std::move(status).error();
  std::string warning;
  auto memo = cache::SqliteMemo::open(folder + "/memo.db", warning);
  if (!memo) return std::move(memo).error();
  if (!warning.empty()) ninja::print_warning(warning);
  auto ledger = cache::SqliteLedger::open(folder + "/ledger.db");
  if (!ledger) return std::move(ledger).error();
  records->memo = *std::move(memo);
  records->ledger = *std::move(ledger);
  records->blobs = std::make_unique<cache::FolderBlobStore>(folder + "/blobs", records->files,
                                                            cache::Sharing::bytes);
  return records;
}

Result<std::vector<EdgeRecord>> last_records(const Graph& graph) {
  const std::string path = records_folder(graph) + "/ledger.db";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::vector<EdgeRecord>{};
  auto ledger = cache::SqliteLedger::open(path);
  if (!ledger) return std::move(ledger).error();
  return (*ledger)->last_records();
}

}  // namespace evolve::cli
