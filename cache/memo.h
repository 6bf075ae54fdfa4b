// The memo: memo.db, the action cache. It is disposable: a result that it lacks is found in the
// ledger, or its action runs again.
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
  static constexpr int kVersion = 1;  // of the tables in memo.db

  // Opens or makes `path`. A memo of another version, or a damaged one, is set aside as
  // `path`.unreadable, an empty one is made, and `warning` says so. A memo that turns out to be
  // damaged during use is set aside then (lost()).
  static Result<std::unique_ptr<SqliteMemo>> open(const std::string& path, std::string& warning);

  // All look-ups between two calls of version() or put() share one transaction. This saves a lock
  // and a check of the file for each look-up.
  Result<std::optional<ActionResult>> find(const Digest& key) override;
  Result<std::vector<std::string>> discovered(const Digest& declared_key) override;
  Status put(const ActionResult& result) override;
  Result<int64_t> version() override;

  Status for_each(const std::function<Status(const ActionResult&)>& visit) {
    return table_.for_each(visit);
  }
  Status drop(const std::vector<Digest>& keys);
  // Names the file that was set aside during use, and the reason; empty: none was.
  [[nodiscard]] const std::string& lost() const { return lost_; }
  // Returns the faults that SQLite finds in the file; empty: it finds none.
  Result<std::vector<std::string>> check() { return database_->check(); }

 private:
  SqliteMemo(std::string path, std::unique_ptr<Database> database, ActionTable table,
             Statement version)
      : path_(std::move(path)),
        database_(std::move(database)),
        table_(std::move(table)),
        version_(std::move(version)) {}
  // Continues with an empty memo if the file is damaged. Returns `error` if the file is not
  // damaged, or cannot be set aside.
  Status start_anew(const Error& error);

  std::string path_;
  std::string lost_;
  std::unique_ptr<Database> database_;
  ActionTable table_;
  Statement version_;
};

}  // namespace evolve::cache
