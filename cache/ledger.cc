#include "cache/ledger.h"

#include <array>
#include <utility>

namespace evolve::cache {

namespace {

constexpr int kLedgerVersion = 1;

constexpr const char* kSchema =
    "CREATE TABLE build (id INTEGER PRIMARY KEY, started TEXT NOT NULL, campaign TEXT NOT NULL,"
    " targets TEXT NOT NULL, toolchain TEXT NOT NULL, outcome TEXT NOT NULL,"
    " ran INTEGER NOT NULL, cached INTEGER NOT NULL);"
    "CREATE TABLE edge (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, output TEXT NOT NULL,"
    " step TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, key TEXT NOT NULL);"
    "CREATE INDEX edge_by_output ON edge (output, id);"
    "CREATE TABLE round (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, campaign TEXT NOT NULL,"
    " number INTEGER NOT NULL, recorded TEXT NOT NULL, selection TEXT NOT NULL);";

// Tables that came later. They are made where they are missing, so that we can read older ledgers,
// and older engines can read ours.
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

Outcome outcome_from(const std::string& name) {
  for (Outcome outcome : {Outcome::hit, Outcome::ran, Outcome::joined}) {
    if (name == outcome_name(outcome)) return outcome;
  }
  return Outcome::failed;
}

}  // namespace

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(const std::string& path,
                                                         std::string& warning) {
  TRY_ASSIGN(auto database, Database::open_or_set_aside(
                                path, kLedgerVersion, std::string(ActionTable::schema()) + kSchema,
                                Replaceable::damaged, warning));
  auto owned = std::make_unique<Database>(std::move(database));
  TRY_ASSIGN(auto table, ActionTable::open(*owned));
  if (!owned->is_read_only()) {
    TRY(owned->execute(kLaterTables));
  }
  TRY_ASSIGN(auto insert_edge, owned->prepare("INSERT INTO edge (build, output, step, outcome, "
                                              "reason, key) VALUES (?, ?, ?, ?, ?, ?)"));
  TRY_ASSIGN(auto last_edge,
             owned->prepare("SELECT output, step, edge.outcome, reason, key FROM edge JOIN build "
                            "ON build.id = edge.build"
                            " WHERE output = ? AND campaign = ? ORDER BY edge.id DESC LIMIT 1"));
  return std::unique_ptr<SqliteLedger>(new SqliteLedger(
      std::move(owned), std::move(table), std::move(insert_edge), std::move(last_edge)));
}

Status SqliteLedger::begin_build(const BuildRecord& build) {
  TRY_ASSIGN(auto statement,
             database_->prepare(
                 "INSERT INTO build (started, campaign, targets, toolchain, outcome, ran, cached)"
                 " VALUES (?, ?, ?, ?, '', 0, 0)"));
  auto status = statement.bind(1, build.started)
                    .bind(2, build.campaign)
                    .bind(3, build.targets)
                    .bind(4, build.toolchain)
                    .run();
  build_ = database_->last_insert_id();
  set_campaign(build.campaign);
  return status;
}

Status SqliteLedger::end_build(const std::string& outcome,
                               const std::map<std::string, Tally>& by_step) {
  TRY_ASSIGN(auto build,
             database_->prepare("UPDATE build SET outcome = ?, ran = ?, cached = ? WHERE id = ?"));
  TRY_ASSIGN(auto tally, database_->prepare("INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?)"));
  return database_->transaction([&]() -> Status {
    int64_t ran = 0, cached = 0;
    for (const auto& [step, its] : by_step) {
      ran += its.ran;
      cached += its.cached;
      auto status = tally.bind(1, build_)
                        .bind(2, step)
                        .bind(3, its.ran)
                        .bind(4, its.cached)
                        .bind(5, its.failed)
                        .bind(6, its.spent_seconds)
                        .bind(7, its.saved_seconds)
                        .run();
      if (!status) return status;
    }
    return build.bind(1, outcome).bind(2, ran).bind(3, cached).bind(4, build_).run();
  });
}

Status SqliteLedger::record(const EdgeRecord& record) {
  // The transaction begins first, because queries within it need no locks of their own.
  TRY(database_->begin());
  if (record.outcome == Outcome::hit) {
    auto row = last_edge_.bind(1, record.output).bind(2, campaign_).step();
    bool is_known = row && *row && last_edge_.text(4) == record.result.key.hex();
    last_edge_.reset();
    if (!row) return std::move(row).error();
    if (is_known) return {};
  }
  // The result of a hit may be missing here: another's memo gave it, or a kill kept it from being
  // recorded.
  bool is_recorded = record.outcome == Outcome::failed;
  if (!is_recorded && record.outcome != Outcome::ran) {
    TRY_ASSIGN(auto known, table_.find(record.result.key));
    is_recorded = known.has_value();
  }
  if (!is_recorded) {
    TRY(table_.put(record.result));
  }
  return insert_edge_.bind(1, build_)
      .bind(2, record.output)
      .bind(3, record.step)
      .bind(4, outcome_name(record.outcome))
      .bind(5, record.reason)
      .bind(6, record.result.key)
      .run();
}

Result<EdgeRecord> SqliteLedger::read_edge(const Statement& row) {
  EdgeRecord record;
  record.output = row.text(0);
  record.step = row.text(1);
  record.outcome = outcome_from(row.text(2));
  record.reason = row.text(3);
  Digest key = Digest::from_hex(row.text(4)).value_or(Digest{});
  TRY_ASSIGN(auto result, table_.find(key));
  if (result) record.result = *std::move(result);
  return record;
}

Result<std::optional<EdgeRecord>> SqliteLedger::last_record(const std::string& output) {
  auto row = last_edge_.bind(1, output).bind(2, campaign_).step();
  if (!row || !*row) {
    last_edge_.reset();
    if (!row) return std::move(row).error();
    return std::optional<EdgeRecord>{};
  }
  auto record = read_edge(last_edge_);
  last_edge_.reset();
  if (!record) return std::move(record).error();
  return std::optional<EdgeRecord>(*std::move(record));
}

Status SqliteLedger::record_round(const std::string& campaign, const RoundRecord& round) {
  TRY_ASSIGN(auto known, rounds(campaign));
  for (const RoundRecord& old : known) {
    if (old.number == round.number && old.selection == round.selection) return {};
  }
  TRY_ASSIGN(auto statement, database_->prepare("INSERT INTO round (build, campaign, number, "
                                                "recorded, selection) VALUES (?, ?, ?, ?, ?)"));
  return statement.bind(1, build_)
      .bind(2, campaign)
      .bind(3, int64_t{round.number})
      .bind(4, round.recorded)
      .bind(5, round.selection)
      .run();
}

Result<std::vector<RoundRecord>> SqliteLedger::rounds(const std::string& campaign) {
  std::vector<RoundRecord> out;
  auto status = database_->query(
      "SELECT number, recorded, selection FROM round WHERE campaign = ?1 AND id IN"
      " (SELECT max(id) FROM round WHERE campaign = ?1 GROUP BY number) ORDER BY number",
      [&](Statement& statement) { statement.bind(1, campaign); },
      [&](Statement& row) -> Status {
        out.push_back({static_cast<int>(row.integer(0)), row.text(1), row.text(2)});
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Status SqliteLedger::records(const std::string& where, const Binding& bind,
                             const std::function<Status(const StoredRecord&)>& visit) {
  return database_->query(
      "SELECT id, before, campaign, round, recorded, text FROM record " + where, bind,
      [&](Statement& row) {
        return visit({row.integer(0), row.integer(1), row.text(2), static_cast<int>(row.integer(3)),
                      row.text(4), row.text(5)});
      });
}

Result<std::optional<StoredRecord>> SqliteLedger::record_where(const std::string& where,
                                                               const Binding& bind) {
  std::optional<StoredRecord> out;
  auto status = records(where, bind, [&](const StoredRecord& record) -> Status {
    out = record;
    return {};
  });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::optional<StoredRecord>> SqliteLedger::find_record(int64_t id) {
  return record_where("WHERE id = ?", [&](Statement& statement) { statement.bind(1, id); });
}

Result<std::optional<StoredRecord>> SqliteLedger::last_record(const std::string& campaign,
                                                              int round) {
  return record_where(
      "WHERE campaign = ? AND round = ? ORDER BY id DESC LIMIT 1",
      [&](Statement& statement) { statement.bind(1, campaign).bind(2, int64_t{round}); });
}

Status SqliteLedger::for_each_record(const std::function<Status(const StoredRecord&)>& visit) {
  return records(
      "ORDER BY id", [](Statement&) {}, visit);
}

Result<int64_t> SqliteLedger::add_record(const StoredRecord& record, Origin origin) {
  int64_t id = 0;
  auto status = database_->transaction([&]() -> Status {
    TRY_ASSIGN(auto last, last_record(record.campaign, record.round));
    if (last && last->before == record.before && last->text == record.text) {
      id = last->id;
      if (origin == Origin::imported) return {};
      TRY_ASSIGN(auto own, database_->prepare("DELETE FROM imported_record WHERE id = ?"));
      return own.bind(1, id).run();
    }
    TRY_ASSIGN(
        auto insert,
        database_->prepare(
            "INSERT INTO record (before, campaign, round, recorded, text) VALUES (?, ?, ?, ?, ?)"));
    auto inserted = insert.bind(1, record.before)
                        .bind(2, record.campaign)
                        .bind(3, int64_t{record.round})
                        .bind(4, record.recorded)
                        .bind(5, record.text)
                        .run();
    id = database_->last_insert_id();
    if (!inserted || origin == Origin::own) return inserted;
    TRY_ASSIGN(auto imported,
               database_->prepare("INSERT OR IGNORE INTO imported_record VALUES (?)"));
    return imported.bind(1, id).run();
  });
  if (!status) return std::move(status).error();
  return id;
}

Result<bool> SqliteLedger::is_imported(int64_t record) {
  bool out = false;
  auto status = database_->query(
      "SELECT id FROM imported_record WHERE id = ?",
      [&](Statement& statement) { statement.bind(1, record); },
      [&](Statement&) -> Status {
        out = true;
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::map<std::string, Tally>> SqliteLedger::tallies() {
  std::map<std::string, Tally> out;
  auto status = database_->query(
      "SELECT step, sum(ran), sum(cached), sum(failed), sum(spent), sum(saved) FROM tally"
      " GROUP BY step",
      [](Statement&) {},
      [&](Statement& row) -> Status {
        out[row.text(0)] = {row.integer(1), row.integer(2), row.integer(3), row.real(4),
                            row.real(5)};
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<double> SqliteLedger::spent_seconds(const std::string& campaign, const std::string& step) {
  double out = 0;
  auto status = database_->query(
      "SELECT sum(spent) FROM tally JOIN build ON build.id = tally.build"
      " WHERE campaign = ? AND step = ?",
      [&](Statement& query) { query.bind(1, campaign).bind(2, step); },
      [&](Statement& row) -> Status {
        out = row.real(0);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Status SqliteLedger::record_use(const std::map<std::string, NodeUse>& by_pool) {
  if (by_pool.empty()) return {};
  TRY_ASSIGN(auto insert, database_->prepare("INSERT INTO node_use VALUES (?, ?, ?, ?, ?)"));
  return database_->transaction([&]() -> Status {
    for (const auto& [pool, its] : by_pool) {
      auto status = insert.bind(1, build_)
                        .bind(2, pool)
                        .bind(3, its.pods)
                        .bind(4, its.seconds)
                        .bind(5, its.chip_seconds)
                        .run();
      if (!status) return status;
    }
    return {};
  });
}

Result<std::map<std::string, NodeUse>> SqliteLedger::uses() {
  std::map<std::string, NodeUse> out;
  auto status = database_->query(
      "SELECT pool, sum(pods), sum(seconds), sum(chip_seconds) FROM node_use GROUP BY pool",
      [](Statement&) {},
      [&](Statement& row) -> Status {
        out[row.text(0)] = {row.integer(1), row.real(2), row.real(3)};
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Status SqliteLedger::add_imported(const ActionResult& result) {
  TRY_ASSIGN(auto statement, database_->prepare("INSERT OR IGNORE INTO imported VALUES (?, ?)"));
  return statement.bind(1, result.key).bind(2, encode_result(result)).run();
}

Result<std::optional<ActionResult>> SqliteLedger::recall_any(const Digest& key) {
  auto found = table_.find(key);
  if (!found || *found) return found;
  auto status = database_->query(
      "SELECT result FROM imported WHERE key = ?",
      [&](Statement& statement) { statement.bind(1, key); },
      [&](Statement& row) -> Status {
        *found = decode_result(key, row.text(0));
        return {};
      });
  if (!status) return std::move(status).error();
  return found;
}

Result<std::vector<std::string>> SqliteLedger::campaigns() {
  std::vector<std::string> out;
  auto status = database_->query(
      "SELECT DISTINCT campaign FROM record ORDER BY campaign", [](Statement&) {},
      [&](Statement& row) -> Status {
        out.push_back(row.text(0));
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::vector<BuildRecord>> SqliteLedger::builds(const std::string& campaign) {
  std::vector<BuildRecord> out;
  auto status = database_->query(
      "SELECT id, started, campaign, targets, toolchain, outcome, ran, cached FROM build"
      " WHERE campaign = ? ORDER BY id DESC",
      [&](Statement& statement) { statement.bind(1, campaign); },
      [&](Statement& row) -> Status {
        out.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4),
                       row.text(5), static_cast<int>(row.integer(6)),
                       static_cast<int>(row.integer(7))});
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::vector<EdgeRecord>> SqliteLedger::edges_where(const std::string& where,
                                                          const Binding& bind) {
  std::vector<EdgeRecord> out;
  auto status = database_->query("SELECT output, step, outcome, reason, key FROM edge " + where,
                                 bind, [&](Statement& row) -> Status {
                                   TRY_ASSIGN(auto record, read_edge(row));
                                   out.push_back(std::move(record));
                                   return {};
                                 });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::vector<EdgeRecord>> SqliteLedger::edges_of_build(int64_t id) {
  return edges_where("WHERE build = ? ORDER BY id",
                     [&](Statement& statement) { statement.bind(1, id); });
}

Result<std::vector<EdgeRecord>> SqliteLedger::last_records() {
  return edges_where("WHERE id IN (SELECT max(id) FROM edge GROUP BY output) ORDER BY output",
                     [](Statement&) {});
}

Result<std::vector<EdgeRecord>> SqliteLedger::last_records_of(const std::string& step, int count) {
  return edges_where(
      "WHERE id IN (SELECT max(id) FROM edge WHERE step = ? AND outcome <> 'failed'"
      " GROUP BY output) ORDER BY id DESC LIMIT ?",
      [&](Statement& statement) { statement.bind(1, step).bind(2, int64_t{count}); });
}

Result<std::optional<EdgeRecord>> SqliteLedger::record_before(const std::string& output,
                                                              int64_t build) {
  TRY_ASSIGN(
      auto found,
      edges_where(
          "WHERE output = ?1 AND build < ?2 AND build IN"
          " (SELECT id FROM build WHERE campaign = (SELECT campaign FROM build WHERE id = ?2))"
          " ORDER BY id DESC LIMIT 1",
          [&](Statement& statement) { statement.bind(1, output).bind(2, build); }));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<std::optional<BuildRecord>> SqliteLedger::build_that_ran(const Digest& key) {
  std::optional<BuildRecord> out;
  auto status = database_->query(
      "SELECT build.id, started, campaign, targets FROM edge JOIN build ON build.id = edge.build"
      " WHERE key = ? AND edge.outcome = 'ran' ORDER BY edge.id LIMIT 1",
      [&](Statement& statement) { statement.bind(1, key); },
      [&](Statement& row) -> Status {
        out.emplace();
        out->id = row.integer(0);
        out->started = row.text(1);
        out->campaign = row.text(2);
        out->targets = row.text(3);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

}  // namespace evolve::cache
