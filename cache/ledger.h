// The ledger: ledger.db, the record of builds, edges, rounds and results. Entries are only
// appended, and never evicted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/action_table.h"
#include "cache/build_table.h"
#include "cache/round_table.h"
#include "cache/use_table.h"
#include "engine/core/ports.h"

namespace evolve::cache {

class SqliteLedger : public Ledger {
 public:
  static constexpr int kVersion = 1;  // of the tables in ledger.db

  // Opens or makes `path`. A damaged ledger is set aside as `path`.unreadable, an empty one is
  // made, and `warning` says so. A ledger of another version is an error.
  static Result<std::unique_ptr<SqliteLedger>> open(const std::string& path, std::string& warning);

  // Sets the campaign whose records last_record() reads from now on. Campaigns that share a state
  // folder may have edges of the same names. Empty, as after open(): builds without a campaign.
  void set_campaign(const std::string& campaign) { campaign_ = campaign; }
  // Begins the record of a build. Edges that are recorded from now on belong to this build. Calls
  // set_campaign() with its campaign.
  Status begin_build(const BuildRecord& build);
  Status end_build(const std::string& outcome, const std::map<std::string, Tally>& by_step);

  Result<std::optional<ActionResult>> recall(const Digest& key) override {
    return results_->find(key);
  }
  Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) override {
    return results_->discovered(declared_key);
  }
  // Records an edge's outcome. Writes nothing for a hit with the key of the edge's last record.
  Status record(const EdgeRecord& record) override;
  Status flush() override { return database_.commit(); }
  Result<std::optional<EdgeRecord>> last_record(const std::string& output) override {
    return builds_->last_edge(campaign_, output);
  }

  // Returns the faults that SQLite finds in the file; empty: it finds none.
  Result<std::vector<std::string>> check() { return database_.check(); }

  BuildTable& builds() { return *builds_; }
  RoundTable& rounds() { return *rounds_; }
  UseTable& use() { return use_; }

 private:
  explicit SqliteLedger(Database database)
      : database_(std::move(database)), use_(database_, build_) {}

  Database database_;
  int64_t build_ = 0;  // number of the build under way; 0: none
  std::string campaign_;
  // Set by open(), in this order.
  std::optional<ActionTable> results_;
  std::optional<Statement> insert_edge_;
  std::optional<BuildTable> builds_;
  std::optional<RoundTable> rounds_;
  UseTable use_;
};

}  // namespace evolve::cache
