// The memo: memo.db, the action cache. Disposable: what it lacks is found in the ledger or run
// again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/action_table.h"
#include "engine/core/ports.h"

namespace evolve::cache {

class SqliteMemo : public Memo {
 public:
  // Opens or makes `path`. A memo of another version, or a damaged one, is set aside as
  // `path`.unreadable and an empty one made: `warning` then gets words of it.
  static Result<std::unique_ptr<SqliteMemo>> open(const std::string& path, std::string& warning);

  // What is found between two calls of version() or put() is found in one transaction, which
  // spares a lock and a look at the file for each.
  Result<std::optional<ActionResult>> find(const Digest& key) override;
  Result<std::vector<std::string>> discovered(const Digest& declared_key) override;
  Status put(const ActionResult& result) override;
  Result<int64_t> version() override;

  Status for_each(const std::function<Status(const ActionResult&)>& visit) {
    return table_.for_each(visit);
  }
  Status drop(const std::vector<Digest>& keys);
  // What SQLite finds wrong with the file; empty: nothing.
  Result<std::vector<std::string>> check() { return database_->check(); }

 private:
  SqliteMemo(std::unique_ptr<Database> database, ActionTable table, Statement version)
      : database_(std::move(database)), table_(std::move(table)), version_(std::move(version)) {}

  std::unique_ptr<Database> database_;
  ActionTable table_;
  Statement version_;
};

}  // namespace evolve::cache
