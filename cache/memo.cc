#include "cache/memo.h"

#include <fmt/format.h>

#include <filesystem>

namespace evolve::cache {

namespace {
constexpr int kVersion = 1;
}

Result<std::unique_ptr<SqliteMemo>> SqliteMemo::open(const std::string& path,
                                                     std::string& warning) {
  warning.clear();
  auto database = Database::open(path, kVersion, ActionTable::schema());
  if (!database) {
    std::string aside = path + ".unreadable";
    std::error_code error;
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix, error);
    std::filesystem::rename(path, aside, error);
    if (error) return std::move(database).error();
    warning =
        fmt::format("{}; set aside as {}, starting an empty memo", database.error().message, aside);
    database = Database::open(path, kVersion, ActionTable::schema());
  }
  if (!database) return std::move(database).error();
  auto owned = std::make_unique<Database>(*std::move(database));
  auto table = ActionTable::open(*owned);
  if (!table) return std::move(table).error();
  return std::unique_ptr<SqliteMemo>(new SqliteMemo(std::move(owned), *std::move(table)));
}

Status SqliteMemo::put(const ActionResult& result) {
  // Not held open: who waits for it may hold the ledger.
  if (auto status = database_->begin(); !status) return status;
  ActionResult bare = result;
  bare.parts.clear();
  auto status = table_.put(bare);
  auto ended = database_->commit();
  return status ? ended : status;
}

}  // namespace evolve::cache
