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

// The record of a build.
struct BuildRecord {
  int64_t id = 0;
  std::string started;  // UTC
  std::string campaign;
  std::string targets;    // as asked for, blank-separated
  std::string toolchain;  // names and versions
  std::string outcome;    // "done", "failed", "interrupted"; empty: it has not ended, or was killed
  int ran = 0;
  int cached = 0;
};

// The selection that ended a round, as the select step wrote it.
struct RoundRecord {
  int number = 0;
  std::string recorded;   // UTC
  std::string selection;  // the text of selection.json
};

// The record of a round (engine/core/record.h), which adds to the record of the round before.
struct StoredRecord {
  int64_t id = 0;
  int64_t before = 0;  // 0: none
  std::string campaign;
  int round = 0;
  std::string recorded;  // UTC, of the first time
  std::string text;
};

// The origin of a record: a build here, or somebody else.
enum class Origin { own, imported };

// The totals of what builds did for one step.
struct Tally {
  int64_t ran = 0, cached = 0, failed = 0;
  double spent_seconds = 0;  // of commands that ran
  double saved_seconds = 0;  // of commands whose results were cached
};

class SqliteLedger : public Ledger {
 public:
  // Opens or makes `path`. A damaged ledger is set aside as `path`.unreadable, an empty one is
  // made, and `warning` says so. A ledger of another version is an error.
  static Result<std::unique_ptr<SqliteLedger>> open(const std::string& path, std::string& warning);

  // Sets the campaign whose records last_record(output) looks at from here on, because campaigns
  // that share a state folder have edges of the same names. Empty, as after open(): builds of no
  // campaign.
  void set_campaign(const std::string& campaign) { campaign_ = campaign; }

  // Begins the record of a build. Edges recorded from here on belong to this build, and its
  // campaign is set as by set_campaign().
  Status begin_build(const BuildRecord& build);
  Status end_build(const std::string& outcome, const std::map<std::string, Tally>& by_step);

  Result<std::optional<ActionResult>> recall(const Digest& key) override {
    return table_.find(key);
  }
  Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) override {
    return table_.discovered(declared_key);
  }
  // A hit with the same key as the edge's last record adds nothing, and writes nothing.
  Status record(const EdgeRecord& record) override;
  Status flush() override { return database_->commit(); }
  // Returns the last record of each output, sorted by output.
  Result<std::vector<EdgeRecord>> last_records();
  Result<std::optional<EdgeRecord>> last_record(const std::string& output) override;

  // Records a round's selection, unless it is the round's last one already.
  Status record_round(const std::string& campaign, const RoundRecord& round);
  // Returns the last selection of each round, in the order of rounds.
  Result<std::vector<RoundRecord>> rounds(const std::string& campaign);
  // Stores a record, unless it is the round's last one already. Returns its number, new or old.
  Result<int64_t> add_record(const StoredRecord& record, Origin origin = Origin::own);
  // Whether a record came with a bundle, and no build here has made the same.
  Result<bool> is_imported(int64_t record);
  // Nullopt: there is no such record.
  Result<std::optional<StoredRecord>> find_record(int64_t id);
  Result<std::optional<StoredRecord>> last_record(const std::string& campaign, int round);
  Status for_each_record(const std::function<Status(const StoredRecord&)>& visit);
  // Returns the totals of all builds, by step.
  Result<std::map<std::string, Tally>> tallies();
  // Returns the seconds that a campaign's runs of a step took, in all its builds.
  Result<double> spent_seconds(const std::string& campaign, const std::string& step);
  // Adds what this build used of nodes, by node pool.
  Status record_use(const std::map<std::string, NodeUse>& by_pool);
  // Returns what all builds used of nodes, by node pool.
  Result<std::map<std::string, NodeUse>> uses();
  // Returns what SQLite finds wrong with the file; empty: nothing.
  Result<std::vector<std::string>> check() { return database_->check(); }
  // Stores a result that came with somebody else's record. Replays use it; builds here do not.
  Status add_imported(const ActionResult& result);
  // Returns an action result that was recorded here or, failing that, came with a record.
  Result<std::optional<ActionResult>> recall_any(const Digest& key);
  // Returns the campaigns that have records, sorted by name.
  Result<std::vector<std::string>> campaigns();
  // Returns a campaign's builds, newest first.
  Result<std::vector<BuildRecord>> builds(const std::string& campaign);
  // Returns the edges that build `id` recorded, in the order of their ends.
  Result<std::vector<EdgeRecord>> edges_of_build(int64_t id);
  // Returns the last records of a step's edges that did not fail, newest first, at most `count`.
  Result<std::vector<EdgeRecord>> last_records_of(const std::string& step, int count);
  // Returns the last record of an edge from before a build, in the same campaign.
  Result<std::optional<EdgeRecord>> record_before(const std::string& output, int64_t build);
  // Returns the first build here that ran an action, with only id, started, campaign and targets
  // set. Nullopt: the result came from elsewhere.
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
  // Calls `visit` for rows of the table `record`; `where` is SQL.
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
