// A thin owner of a SQLite connection and its statements; the only header that includes sqlite3.h.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/result.h"

namespace evolve::cache {

// One prepared statement. Parameters count from 1 and columns from 0, as in SQLite.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, int64_t value);
  Statement& bind(int parameter, const Digest& digest);
  Statement& bind(int parameter, double value);

  // Goes to the next row. True: there is a row. False: the statement is done.
  Result<bool> step();
  // Runs a statement that gives no rows, and resets it.
  Status run();
  // Makes the statement ready to be bound and stepped again.
  void reset();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// The databases that an empty database replaces.
enum class Replaceable {
  damaged,     // only damaged databases
  unreadable,  // also databases of another version
};

class Database {
 public:
  // Opens or makes the database at `path` in WAL mode, with a schema of `version` made by the SQL
  // in `schema`. A file of another version, or a file that is not a database, is an error. A
  // process that may not write the file or its folder can still read it. A new file follows the
  // umask and the folder's group.
  static Result<Database> open(const std::string& path, int version, const std::string& schema);
  // As open(), but a database that cannot be opened is renamed to `path`.unreadable (or the first
  // free name like it), a new one is made, and `warning` says so. `what` selects the databases to
  // replace.
  static Result<Database> open_or_set_aside(const std::string& path, int version,
                                            const std::string& schema, Replaceable what,
                                            std::string& warning);

  // Renames the database at `path` as open_or_set_aside() does, with the log that is not merged
  // yet. The text in `warning` begins with `why`. False: the database cannot be renamed.
  static bool set_aside(const std::string& path, const std::string& why, std::string& warning);
  // Returns whether the last failure happened because the file is damaged.
  [[nodiscard]] bool is_damaged() const;

  // Prepares a statement, calls `bind` to bind it, and calls `visit` for each of its rows. Stops
  // when `visit` fails.
  Status query(std::string_view sql, const std::function<void(Statement&)>& bind,
               const std::function<Status(Statement&)>& visit);
  Result<Statement> prepare(std::string_view sql);
  Status execute(const std::string& sql);
  // Opens a transaction that reads, unless a transaction is open. Until commit(), all reads see the
  // database as it was at the first read.
  Status begin_reading();
  // Opens a transaction that writes, unless a transaction is open. Until commit() no other process
  // can write.
  Status begin();
  // Ends the transaction, if one is open.
  Status commit();
  // Does `work` in a transaction. If `work` fails, all its changes are undone.
  Status transaction(const std::function<Status()>& work);
  // Returns the faults that SQLite finds in the file; empty: it finds none.
  Result<std::vector<std::string>> check();
  // Returns the version of the file's schema; 0: a new file.
  Result<int> version();
  [[nodiscard]] bool is_read_only() const {
    return sqlite3_db_readonly(handle_.get(), "main") == 1;
  }
  [[nodiscard]] int64_t last_insert_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

 private:
  static Result<Database> connect(const std::string& path);
  static Result<Database> connect_to_read(const std::string& path);
  // Tries to make a complete database at `path`, unless another process makes one first. Does not
  // report failures.
  static void make(const std::string& path, int version, const std::string& schema);
  Status make_schema(int version, const std::string& schema);
  static bool is_replaceable(const std::string& path, int version, Replaceable what);
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  explicit Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> handle_;
  bool was_damaged_ = false;  // is_damaged() after a transaction failed
  std::string path_;
};

}  // namespace evolve::cache
