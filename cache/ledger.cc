#include "cache/ledger.h"

#include <array>
#include <utility>

namespace evolve::cache {

namespace {

constexpr const char* kSchema =
    "CREATE TABLE build (id INTEGER PRIMARY KEY, started TEXT NOT NULL, campaign TEXT NOT NULL,"
    " targets TEXT NOT NULL, toolchain TEXT NOT NULL, outcome TEXT NOT NULL,"
    " ran INTEGER NOT NULL, cached INTEGER NOT NULL);"
    "CREATE TABLE edge (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, output TEXT NOT NULL,"
    " step TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, key TEXT NOT NULL);"
    "CREATE INDEX edge_by_output ON edge (output, id);"
    "CREATE TABLE round (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, campaign TEXT NOT NULL,"
    " number INTEGER NOT NULL, recorded TEXT NOT NULL, selection TEXT NOT NULL);";

// Tables that later versions added. They are created if they are missing, so that we can read older
// ledgers, and older engines can read ours.
constexpr const char* kLaterTables =
    "CREATE TABLE IF NOT EXISTS tally (build INTEGER NOT NULL, step TEXT NOT NULL,"
    " ran INTEGER NOT NULL, cached INTEGER NOT NULL, failed INTEGER NOT NULL,"
    " spent REAL NOT NULL, saved REAL NOT NULL);"
    "CREATE TABLE IF NOT EXISTS node_use (build INTEGER NOT NULL, pool TEXT NOT NULL,"
    " pods INTEGER NOT NULL, seconds REAL NOT NULL, chip_seconds REAL NOT NULL);"
    "CREATE TABLE IF NOT EXISTS imported (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT "
    "ROWID;"
    "CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, before INTEGER NOT NULL,"
    " campaign TEXT NOT NULL, round INTEGER NOT NULL, recorded TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS imported_record (id INTEGER PRIMARY KEY);"
    "CREATE INDEX IF NOT EXISTS edge_by_key ON edge (key, id);";

}  // namespace

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(const std::string& path,
                                                         std::string& warning) {
  TRY_ASSIGN(auto database, Database::open_or_set_aside(
                                path, kVersion, std::string(ActionTable::schema()) + kSchema,
                                Replaceable::damaged, warning));
  std::unique_ptr<SqliteLedger> out(new SqliteLedger(std::move(database)));
  TRY_ASSIGN(auto results, ActionTable::open(out->database_));
  out->results_.emplace(std::move(results));
  if (!out->database_.is_read_only()) {
    TRY(out->database_.execute(kLaterTables));
  }
  TRY_ASSIGN(auto insert_edge,
             out->database_.prepare("INSERT INTO edge (build, output, step, outcome, "
                                    "reason, key) VALUES (?, ?, ?, ?, ?, ?)"));
  out->insert_edge_.emplace(std::move(insert_edge));
  TRY_ASSIGN(auto builds, BuildTable::open(out->database_, *out->results_));
  out->builds_.emplace(std::move(builds));
  out->rounds_.emplace(out->database_, *out->results_, out->build_);
  return out;
}

Status SqliteLedger::begin_build(const BuildRecord& build) {
  TRY_ASSIGN(auto statement,
             database_.prepare(
                 "INSERT INTO build (started, campaign, targets, toolchain, outcome, ran, cached)"
                 " VALUES (?, ?, ?, ?, '', 0, 0)"));
  auto status = statement.bind(1, build.started)
                    .bind(2, build.campaign)
                    .bind(3, build.targets)
                    .bind(4, build.toolchain)
                    .run();
  build_ = database_.last_insert_id();
  set_campaign(build.campaign);
  return status;
}

Status SqliteLedger::end_build(const std::string& outcome,
                               const std::map<std::string, Tally>& by_step) {
  TRY_ASSIGN(auto build,
             database_.prepare("UPDATE build SET outcome = ?, ran = ?, cached = ? WHERE id = ?"));
  return database_.transaction([&]() -> Status {
    int64_t ran = 0, cached = 0;
    for (const auto& [step, tally] : by_step) {
      ran += tally.ran;
      cached += tally.cached;
    }
    TRY(use_.record_steps(by_step));
    return build.bind(1, outcome).bind(2, ran).bind(3, cached).bind(4, build_).run();
  });
}

Status SqliteLedger::record(const EdgeRecord& record) {
  // The transaction begins first, because queries within it need no locks of their own.
  TRY(database_.begin());
  if (record.outcome == Outcome::hit) {
    TRY_ASSIGN(auto last, builds_->last_key(campaign_, record.output));
    if (last == record.result.key) return {};
  }
  // The ledger may lack the result of a hit, because the result came from a remote cache, or
  // because a build was killed before it recorded the result.
  bool is_recorded = record.outcome == Outcome::failed;
  if (!is_recorded && record.outcome != Outcome::ran) {
    TRY_ASSIGN(auto known, results_->find(record.result.key));
    is_recorded = known.has_value();
  }
  if (!is_recorded) {
    TRY(results_->put(record.result));
  }
  return insert_edge_->bind(1, build_)
      .bind(2, record.output)
      .bind(3, record.step)
      .bind(4, outcome_name(record.outcome))
      .bind(5, record.reason)
      .bind(6, record.result.key)
      .run();
}

}  // namespace evolve::cache
