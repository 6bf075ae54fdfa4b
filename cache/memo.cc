#include "cache/memo.h"

namespace evolve::cache {

Result<std::unique_ptr<SqliteMemo>> SqliteMemo::open(const std::string& path,
                                                     std::string& warning) {
  TRY_ASSIGN(auto database, Database::open_or_set_aside(path, kVersion, ActionTable::schema(),
                                                        Replaceable::unreadable, warning));
  auto owned = std::make_unique<Database>(std::move(database));
  TRY_ASSIGN(auto table, ActionTable::open(*owned));
  TRY_ASSIGN(auto version, owned->prepare("PRAGMA data_version"));
  return std::unique_ptr<SqliteMemo>(
      new SqliteMemo(path, std::move(owned), std::move(table), std::move(version)));
}

Status SqliteMemo::start_anew(const Error& error) {
  if (!database_->is_damaged() || !Database::set_aside(path_, error.message, lost_)) return error;
  TRY_ASSIGN(auto other, open(path_, lost_));
  table_ = std::move(other->table_);
  version_ = std::move(other->version_);
  // The old database is closed last, after the statements that were prepared for it.
  database_ = std::move(other->database_);
  return {};
}

Result<std::optional<ActionResult>> SqliteMemo::find(const Digest& key) {
  TRY(database_->begin_reading());
  auto found = table_.find(key);
  if (found) return found;
  TRY(start_anew(found.error()));
  return std::optional<ActionResult>{};
}

Result<std::vector<std::string>> SqliteMemo::discovered(const Digest& declared_key) {
  TRY(database_->begin_reading());
  auto found = table_.discovered(declared_key);
  if (found) return found;
  TRY(start_anew(found.error()));
  return std::vector<std::string>{};
}

Status SqliteMemo::put(const ActionResult& result) {
  ActionResult bare = result;
  bare.parts.clear();
  TRY(database_->commit());
  // The transaction is not held open, because a process that waits for it may hold the ledger.
  auto put = [&] { return table_.put(bare); };
  auto status = database_->transaction(put);
  if (status) return status;
  TRY(start_anew(status.error()));
  return database_->transaction(put);
}

Status SqliteMemo::drop(const std::vector<Digest>& keys) {
  if (keys.empty()) return {};
  TRY(database_->commit());
  return database_->transaction([&]() -> Status {
    for (const Digest& key : keys) {
      TRY(table_.drop(key));
    }
    return {};
  });
}

Result<int64_t> SqliteMemo::version() {
  TRY(database_->commit());
  auto row = version_.step();
  const int64_t version = row ? version_.integer(0) : 0;
  version_.reset();
  if (!row) return std::move(row).error();
  return version;
}

}  // namespace evolve::cache
