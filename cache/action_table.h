// The table of action results, which the memo and the ledger both have. memo.db may be lost at any
// time, but ledger.db is the record. cache/README.md describes the format.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/sqlite.h"
#include "engine/core/action.h"

namespace evolve::cache {

// Returns the stored form of a result: JSON (cache/README.md), without the key.
std::string encode_result(const ActionResult& result);
// Reads the stored form. Nullopt: the text is not a result.
std::optional<ActionResult> decode_result(const Digest& key, const std::string& text);

class ActionTable {
 public:
  // The SQL that makes the tables, for Database::open.
  static const char* schema();
  // `database` must outlive the table.
  static Result<ActionTable> open(Database& database);

  Result<std::optional<ActionResult>> find(const Digest& key);
  Result<std::vector<std::string>> discovered(const Digest& declared_key);
  // Calls `visit` for each result that can be read. Stops when `visit` fails.
  Status for_each(const std::function<Status(const ActionResult&)>& visit);
  Status drop(const Digest& key) { return drop_.bind(1, key).run(); }
  // Stores a result. Replaces any earlier result with the same key.
  Status put(const ActionResult& result);

 private:
  ActionTable(Statement find, Statement discovered, Statement put, Statement put_discovered,
              Statement drop_discovered, Statement drop, Statement all)
      : find_(std::move(find)),
        discovered_(std::move(discovered)),
        put_(std::move(put)),
        put_discovered_(std::move(put_discovered)),
        drop_discovered_(std::move(drop_discovered)),
        drop_(std::move(drop)),
        all_(std::move(all)) {}

  Statement find_;
  Statement discovered_;
  Statement put_;
  Statement put_discovered_;
  Statement drop_discovered_;
  Statement drop_;
  Statement all_;
};

}  // namespace evolve::cache
