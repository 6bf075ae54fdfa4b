// The ledger: ledger.db, the record of builds, edges, rounds and variants. Append-only, never
// evicted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/action_table.h"
#include "engine/core/ports.h"

namespace evolve::cache {

// What a build is recorded as.
struct BuildRecord {
  int64_t id = 0;
  std::string started;  // UTC
  std::string campaign;
  std::string targets;    // as asked for, blank-separated
  std::string toolchain;  // names and versions
  std::string outcome;    // "done", "failed", "interrupted", or "" where it did not live to say
  int ran = 0;
  int cached = 0;
};

// The selection that ended a round, as the select step wrote it.
struct RoundRecord {
  int number = 0;
  std::string recorded;   // UTC
  std::string selection;  // the text of selection.json
};

// The record of a round (engine/core/record.h), which adds to that of the round before.
struct StoredRecord {
  int64_t id = 0;
  int64_t before = 0;  // 0: none
  std::string campaign;
  int round = 0;
  std::string recorded;  // UTC, the first time
  std::string text;
};

// Who made a record: a build here, or somebody else.
enum class Origin { own, imported };

// What builds did of one step.
struct Tally {
  int64_t ran = 0, cached = 0, failed = 0;
  double spent_seconds = 0;  // of commands that ran
  double saved_seconds = 0;  // of those whose results were there
};

class SqliteLedger : public Ledger {
 public:
  // Opens or makes `path`. A damaged ledger is set aside as `path`.unreadable and an empty one
  // made: `warning` then gets words of it. One of another version is an error.
  static Result<std::unique_ptr<SqliteLedger>> open(const std::string& path, std::string& warning);

  // Of which campaign the last records are from here on, for campaigns that share a state folder
  // have edges of the same names. Empty, as opened: of builds of no campaign.
  void set_campaign(const std::string& campaign) { campaign_ = campaign; }

  // Opens the record of a build; the edges recorded from here on are its own, and the campaign is
  // its.
  Status begin_build(const BuildRecord& build);
  Status end_build(const std::string& outcome, const std::map<std::string, Tally>& by_step);

  Result<std::optional<ActionResult>> recall(const Digest& key) override {
    return table_.find(key);
  }
  Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) override {
    return table_.discovered(declared_key);
  }
  // A hit whose key is the edge's last recorded one adds nothing, and writes nothing.
  Status record(const EdgeRecord& record) override;
  Status flush() override { return database_->commit(); }
  // The last record of each output, in the order of the outputs' names.
  Result<std::vector<EdgeRecord>> last_records();
  Result<std::optional<EdgeRecord>> last_record(const std::string& output) override;

  // Records a round's selection; the same text twice is one record.
  Status record_round(const std::string& campaign, const RoundRecord& round);
  // The last selection of each round, in order.
  Result<std::vector<RoundRecord>> rounds(const std::string& campaign);
  // Stores a record, unless it is the round's last one; returns its number, which is new or that
  // one's.
  Result<int64_t> add_record(const StoredRecord& record, Origin origin = Origin::own);
  // Whether a record came with a bundle, and no build here has made the same.
  Result<bool> is_imported(int64_t record);
  // Nullopt: there is none.
  Result<std::optional<StoredRecord>> find_record(int64_t id);
  Result<std::optional<StoredRecord>> last_record(const std::string& campaign, int round);
  Status for_each_record(const std::function<Status(const StoredRecord&)>& visit);
  // Of all builds, by step.
  Result<std::map<std::string, Tally>> tallies();
  // Seconds that a campaign's runs of a step took, in all its builds.
  Result<double> spent_seconds(const std::string& campaign, const std::string& step);
  // Adds to what this build used, by node pool.
  Status record_use(const std::map<std::string, NodeUse>& by_pool);
  // Of all builds, by node pool.
  Result<std::map<std::string, NodeUse>> uses();
  // What SQLite finds wrong with the file; empty: nothing.
  Result<std::vector<std::string>> check() { return database_->check(); }
  // A result that came with somebody else's record: for replays, and for nothing that is built
  // here.
  Status add_imported(const ActionResult& result);
  // An action result that was recorded here or, else, came with a record.
  Result<std::optional<ActionResult>> recall_any(const Digest& key);
  // Those that have records, by name.
  Result<std::vector<std::string>> campaigns();
  // Newest first.
  Result<std::vector<BuildRecord>> builds(const std::string& campaign);
  // Edges that build `id` ran, joined or failed, in the order of their ends.
  Result<std::vector<EdgeRecord>> edges_of_build(int64_t id);
  // The last records of edges of a step that did not fail, newest first, at most so many.
  Result<std::vector<EdgeRecord>> last_records_of(const std::string& step, int count);
  // The last record of an edge before a build, of the same campaign.
  Result<std::optional<EdgeRecord>> record_before(const std::string& output, int64_t build);
  // The first build here that ran an action; nullopt: it came from elsewhere. Has no more than id,
  // started, campaign and targets.
  Result<std::optional<BuildRecord>> build_that_ran(const Digest& key);

 private:
  explicit SqliteLedger(std::unique_ptr<Database> database, ActionTable table,
                        Statement insert_edge, Statement last_edge)
      : database_(std::move(database)),
        table_(std::move(table)),
        insert_edge_(std::move(insert_edge)),
        last_edge_(std::move(last_edge)) {}
  Result<EdgeRecord> read_edge(const Statement& row);
  using Binding = std::function<void(Statement&)>;
  // Rows of the table of that name; `where` is SQL.
  Status records(const std::string& where, const Binding& bind,
                 const std::function<Status(const StoredRecord&)>& visit);
  Result<std::optional<StoredRecord>> record_where(const std::string& where, const Binding& bind);
  Result<std::vector<EdgeRecord>> edges_where(const std::string& where, const Binding& bind);

  std::unique_ptr<Database> database_;
  ActionTable table_;
  Statement insert_edge_;
  Statement last_edge_;
  int64_t build_ = 0;
  std::string campaign_;
};

}  // namespace evolve::cache
