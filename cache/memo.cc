#include "cache/memo.h"

namespace evolve::cache {

namespace {
constexpr int kMemoVersion = 1;
}

Result<std::unique_ptr<SqliteMemo>> SqliteMemo::open(const std::string& path,
                                                     std::string& warning) {
  auto database = Database::open_or_set_aside(path, kMemoVersion, ActionTable::schema(),
                                              Replaceable::unreadable, warning);
  if (!database) return std::move(database).error();
  auto owned = std::make_unique<Database>(*std::move(database));
  auto table = ActionTable::open(*owned);
  if (!table) return std::move(table).error();
  auto version = owned->prepare("PRAGMA data_version");
  if (!version) return std::move(version).error();
  return std::unique_ptr<SqliteMemo>(
      new SqliteMemo(path, std::move(owned), *std::move(table), *std::move(version)));
}

Status SqliteMemo::start_anew(const Error& error) {
  if (!database_->is_damaged() || !Database::set_aside(path_, error.message, lost_)) return error;
  auto other = open(path_, lost_);
  if (!other) return std::move(other).error();
  table_ = std::move((*other)->table_);
  version_ = std::move((*other)->version_);
  // Last: what was prepared for it is gone by now.
  database_ = std::move((*other)->database_);
  return {};
}

Result<std::optional<ActionResult>> SqliteMemo::find(const Digest& key) {
  if (auto status = database_->begin_reading(); !status) return std::move(status).error();
  auto found = table_.find(key);
  if (found) return found;
  if (auto status = start_anew(found.error()); !status) return std::move(status).error();
  return std::optional<ActionResult>{};
}

Result<std::vector<std::string>> SqliteMemo::discovered(const Digest& declared_key) {
  if (auto status = database_->begin_reading(); !status) return std::move(status).error();
  auto found = table_.discovered(declared_key);
  if (found) return found;
  if (auto status = start_anew(found.error()); !status) return std::move(status).error();
  return std::vector<std::string>{};
}

Status SqliteMemo::put(const ActionResult& result) {
  ActionResult bare = result;
  bare.parts.clear();
  if (auto status = database_->commit(); !status) return status;
  // Not held open: who waits for it may hold the ledger.
  auto put = [&] { return table_.put(bare); };
  auto status = database_->transaction(put);
  if (status) return status;
  if (auto anew = start_anew(status.error()); !anew) return anew;
  return database_->transaction(put);
}

Status SqliteMemo::drop(const std::vector<Digest>& keys) {
  if (keys.empty()) return {};
  if (auto status = database_->commit(); !status) return status;
  return database_->transaction([&]() -> Status {
    for (const Digest& key : keys) {
      if (auto status = table_.drop(key); !status) return status;
    }
    return {};
  });
}

Result<int64_t> SqliteMemo::version() {
  if (auto status = database_->commit(); !status) return std::move(status).error();
  auto row = version_.step();
  const int64_t version = row ? version_.integer(0) : 0;
  version_.reset();
  if (!row) return std::move(row).error();
  return version;
}

}  // namespace evolve::cache
