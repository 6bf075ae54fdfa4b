#include "cache/ledger.h"

#include <array>
#include <utility>

namespace evolve::cache {

namespace {

constexpr int kVersion = 1;

constexpr const char* kSchema =
    "CREATE TABLE build (id INTEGER PRIMARY KEY, started TEXT NOT NULL, campaign TEXT NOT NULL,"
    " targets TEXT NOT NULL, toolchain TEXT NOT NULL, outcome TEXT NOT NULL,"
    " ran INTEGER NOT NULL, cached INTEGER NOT NULL);"
    "CREATE TABLE edge (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, output TEXT NOT NULL,"
    " step TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, key TEXT NOT NULL);"
    "CREATE INDEX edge_by_output ON edge (output, id);"
    "CREATE TABLE round (id INTEGER PRIMARY KEY, build INTEGER NOT NULL, campaign TEXT NOT NULL,"
    " number INTEGER NOT NULL, recorded TEXT NOT NULL, selection TEXT NOT NULL);";

// Came later: made where they are missing, so that older ledgers are read, and older engines read
// these.
constexpr const char* kLaterTables =
    "CREATE TABLE IF NOT EXISTS tally (build INTEGER NOT NULL, step TEXT NOT NULL,"
    " ran INTEGER NOT NULL, cached INTEGER NOT NULL, failed INTEGER NOT NULL,"
    " spent REAL NOT NULL, saved REAL NOT NULL);"
    "CREATE TABLE IF NOT EXISTS imported (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT "
    "ROWID;"
    "CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, before INTEGER NOT NULL,"
    " campaign TEXT NOT NULL, round INTEGER NOT NULL, recorded TEXT NOT NULL, text TEXT NOT NULL)";

Outcome outcome_from(const std::string& name) {
  for (Outcome outcome : {Outcome::hit, Outcome::ran, Outcome::joined}) {
    if (name == outcome_name(outcome)) return outcome;
  }
  return Outcome::failed;
}

}  // namespace

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::open(const std::string& path,
                                                         std::string& warning) {
  auto database = Database::open_or_set_aside(
      path, kVersion, std::string(ActionTable::schema()) + kSchema, Replaceable::damaged, warning);
  if (!database) return std::move(database).error();
  auto owned = std::make_unique<Database>(*std::move(database));
  auto table = ActionTable::open(*owned);
  if (!table) return std::move(table).error();
  if (auto status = owned->execute(kLaterTables); !status) return std::move(status).error();
  auto insert_edge = owned->prepare(
      "INSERT INTO edge (build, output, step, outcome, reason, key) VALUES (?, ?, ?, ?, ?, ?)");
  if (!insert_edge) return std::move(insert_edge).error();
  auto last_edge = owned->prepare(
      "SELECT output, step, outcome, reason, key FROM edge WHERE output = ? ORDER BY id DESC LIMIT "
      "1");
  if (!last_edge) return std::move(last_edge).error();
  return std::unique_ptr<SqliteLedger>(new SqliteLedger(
      std::move(owned), *std::move(table), *std::move(insert_edge), *std::move(last_edge)));
}

Status SqliteLedger::begin_build(const BuildRecord& build) {
  auto statement = database_->prepare(
      "INSERT INTO build (started, campaign, targets, toolchain, outcome, ran, cached)"
      " VALUES (?, ?, ?, ?, '', 0, 0)");
  if (!statement) return std::move(statement).error();
  auto status = statement->bind(1, build.started)
                    .bind(2, build.campaign)
                    .bind(3, build.targets)
                    .bind(4, build.toolchain)
                    .run();
  build_ = database_->last_insert_id();
  return status;
}

Status SqliteLedger::end_build(const std::string& outcome,
                               const std::map<std::string, Tally>& by_step) {
  auto build = database_->prepare("UPDATE build SET outcome = ?, ran = ?, cached = ? WHERE id = ?");
  if (!build) return std::move(build).error();
  auto tally = database_->prepare("INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?)");
  if (!tally) return std::move(tally).error();
  if (auto status = database_->begin(); !status) return status;
  Status status;
  int64_t ran = 0, cached = 0;
  for (const auto& [step, its] : by_step) {
    ran += its.ran;
    cached += its.cached;
    if (!status) continue;
    status = tally->bind(1, build_)
                 .bind(2, step)
                 .bind(3, its.ran)
                 .bind(4, its.cached)
                 .bind(5, its.failed)
                 .bind(6, its.spent_seconds)
                 .bind(7, its.saved_seconds)
                 .run();
  }
  if (status) status = build->bind(1, outcome).bind(2, ran).bind(3, cached).bind(4, build_).run();
  auto ended = database_->commit();
  return status ? ended : status;
}

Status SqliteLedger::record(const EdgeRecord& record) {
  // First: within a transaction each query does without locks of its own.
  if (auto status = database_->begin(); !status) return status;
  if (record.outcome == Outcome::hit) {
    auto row = last_edge_.bind(1, record.output).step();
    bool is_known = row && *row && last_edge_.text(4) == record.result.key.hex();
    last_edge_.reset();
    if (!row) return std::move(row).error();
    if (is_known) return {};
  }
  // A hit may be of a result that another's memo gave, or one that a kill kept from being recorded.
  bool is_recorded = record.outcome == Outcome::failed;
  if (!is_recorded && record.outcome != Outcome::ran) {
    auto known = table_.find(record.result.key);
    if (!known) return std::move(known).error();
    is_recorded = known->has_value();
  }
  if (!is_recorded) {
    if (auto status = table_.put(record.result); !status) return status;
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
  auto result = table_.find(key);
  if (!result) return std::move(result).error();
  if (*result) record.result = **std::move(result);
  return record;
}

Result<std::optional<EdgeRecord>> SqliteLedger::last_record(const std::string& output) {
  auto row = last_edge_.bind(1, output).step();
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
  auto known = rounds(campaign);
  if (!known) return std::move(known).error();
  for (const RoundRecord& old : *known) {
    if (old.number == round.number && old.selection == round.selection) return {};
  }
  auto statement = database_->prepare(
      "INSERT INTO round (build, campaign, number, recorded, selection) VALUES (?, ?, ?, ?, ?)");
  if (!statement) return std::move(statement).error();
  return statement->bind(1, build_)
      .bind(2, campaign)
      .bind(3, int64_t{round.number})
      .bind(4, round.recorded)
      .bind(5, round.selection)
      .run();
}

Result<std::vector<RoundRecord>> SqliteLedger::rounds(const std::string& campaign) {
  auto statement = database_->prepare(
      "SELECT number, recorded, selection FROM round WHERE campaign = ?1 AND id IN"
      " (SELECT max(id) FROM round WHERE campaign = ?1 GROUP BY number) ORDER BY number");
  if (!statement) return std::move(statement).error();
  statement->bind(1, campaign);
  std::vector<RoundRecord> out;
  while (true) {
    auto row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return out;
    out.push_back(
        {static_cast<int>(statement->integer(0)), statement->text(1), statement->text(2)});
  }
}

Result<std::optional<StoredRecord>> SqliteLedger::read_record(Statement& statement) {
  auto row = statement.step();
  if (!row) return std::move(row).error();
  if (!*row) return std::optional<StoredRecord>{};
  return std::optional(StoredRecord{statement.integer(0), statement.integer(1), statement.text(2),
                                    static_cast<int>(statement.integer(3)), statement.text(4),
                                    statement.text(5)});
}

Result<std::optional<StoredRecord>> SqliteLedger::find_record(int64_t id) {
  auto statement = database_->prepare(
      "SELECT id, before, campaign, round, recorded, text FROM record WHERE id = ?");
  if (!statement) return std::move(statement).error();
  return read_record(statement->bind(1, id));
}

Result<std::optional<StoredRecord>> SqliteLedger::last_record(const std::string& campaign,
                                                              int round) {
  auto statement = database_->prepare(
      "SELECT id, before, campaign, round, recorded, text FROM record"
      " WHERE campaign = ? AND round = ? ORDER BY id DESC LIMIT 1");
  if (!statement) return std::move(statement).error();
  return read_record(statement->bind(1, campaign).bind(2, int64_t{round}));
}

Result<int64_t> SqliteLedger::add_record(const StoredRecord& record) {
  if (auto status = database_->begin(); !status) return std::move(status).error();
  auto last = last_record(record.campaign, record.round);
  if (!last) return std::move(last).error();
  const bool is_known = *last && (*last)->before == record.before && (*last)->text == record.text;
  int64_t id = is_known ? (*last)->id : 0;
  if (!is_known) {
    auto statement = database_->prepare(
        "INSERT INTO record (before, campaign, round, recorded, text) VALUES (?, ?, ?, ?, ?)");
    if (!statement) return std::move(statement).error();
    auto status = statement->bind(1, record.before)
                      .bind(2, record.campaign)
                      .bind(3, int64_t{record.round})
                      .bind(4, record.recorded)
                      .bind(5, record.text)
                      .run();
    if (!status) return std::move(status).error();
    id = database_->last_insert_id();
  }
  if (auto status = database_->commit(); !status) return std::move(status).error();
  return id;
}

Status SqliteLedger::for_each_record(const std::function<Status(const StoredRecord&)>& visit) {
  auto statement = database_->prepare(
      "SELECT id, before, campaign, round, recorded, text FROM record ORDER BY id");
  if (!statement) return std::move(statement).error();
  while (true) {
    auto record = read_record(*statement);
    if (!record) return std::move(record).error();
    if (!*record) return {};
    if (auto status = visit(**record); !status) return status;
  }
}

Result<std::map<std::string, Tally>> SqliteLedger::tallies() {
  auto statement = database_->prepare(
      "SELECT step, sum(ran), sum(cached), sum(failed), sum(spent), sum(saved) FROM tally"
      " GROUP BY step");
  if (!statement) return std::move(statement).error();
  std::map<std::string, Tally> out;
  while (true) {
    auto row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return out;
    out[statement->text(0)] = {statement->integer(1), statement->integer(2), statement->integer(3),
                               statement->real(4), statement->real(5)};
  }
}

Status SqliteLedger::add_imported(const ActionResult& result) {
  auto statement = database_->prepare("INSERT OR IGNORE INTO imported VALUES (?, ?)");
  if (!statement) return std::move(statement).error();
  return statement->bind(1, result.key).bind(2, encode_result(result)).run();
}

Result<std::optional<ActionResult>> SqliteLedger::recall_any(const Digest& key) {
  auto own = table_.find(key);
  if (!own || *own) return own;
  auto statement = database_->prepare("SELECT result FROM imported WHERE key = ?");
  if (!statement) return std::move(statement).error();
  auto row = statement->bind(1, key).step();
  if (!row) return std::move(row).error();
  return *row ? decode_result(key, statement->text(0)) : std::optional<ActionResult>{};
}

Result<std::vector<std::string>> SqliteLedger::campaigns() {
  auto statement = database_->prepare("SELECT DISTINCT campaign FROM record ORDER BY campaign");
  if (!statement) return std::move(statement).error();
  std::vector<std::string> out;
  while (true) {
    auto row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return out;
    out.push_back(statement->text(0));
  }
}

Result<std::vector<BuildRecord>> SqliteLedger::builds(const std::string& campaign) {
  auto statement = database_->prepare(
      "SELECT id, started, campaign, targets, toolchain, outcome, ran, cached FROM build"
      " WHERE campaign = ? ORDER BY id DESC");
  if (!statement) return std::move(statement).error();
  statement->bind(1, campaign);
  std::vector<BuildRecord> out;
  while (true) {
    auto row = statement->step();
    if (!row) return std::move(row).error();
    if (!*row) return out;
    out.push_back({statement->integer(0), statement->text(1), statement->text(2),
                   statement->text(3), statement->text(4), statement->text(5),
                   static_cast<int>(statement->integer(6)),
                   static_cast<int>(statement->integer(7))});
  }
}

Result<std::vector<EdgeRecord>> SqliteLedger::edges_of_build(int64_t id) {
  auto statement = database_->prepare(
      "SELECT output, step, outcome, reason, key FROM edge WHERE build = ? ORDER BY id");
  if (!statement) return std::move(statement).error();
  statement->bind(1, id);
  return read_edges(*statement);
}

Result<std::vector<EdgeRecord>> SqliteLedger::last_records() {
  auto statement = database_->prepare(
      "SELECT output, step, outcome, reason, key FROM edge WHERE id IN"
      " (SELECT max(id) FROM edge GROUP BY output) ORDER BY output");
  if (!statement) return std::move(statement).error();
  return read_edges(*statement);
}

Result<std::vector<EdgeRecord>> SqliteLedger::read_edges(Statement& statement) {
  std::vector<EdgeRecord> out;
  while (true) {
    auto row = statement.step();
    if (!row) return std::move(row).error();
    if (!*row) return out;
    auto record = read_edge(statement);
    if (!record) return std::move(record).error();
    out.push_back(*std::move(record));
  }
}

}  // namespace evolve::cache
