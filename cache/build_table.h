// The ledger's history of builds, for people and later builds. It reads the tables `build` and
// `edge`, which SqliteLedger writes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/action_table.h"
#include "engine/core/action.h"

namespace evolve::cache {

// The record of a build.
struct BuildRecord {
  int64_t id = 0;
  std::string started;  // UTC
  std::string campaign;
  std::string targets;    // as requested, separated by blanks
  std::string toolchain;  // names and versions
  // "done", "failed" or "interrupted"; empty: the build runs, or was killed
  std::string outcome = {};
  int ran = 0;
  int cached = 0;
};

class BuildTable {
 public:
  // Both arguments must outlive the table.
  static Result<BuildTable> open(Database& database, ActionTable& results);

  // Returns a campaign's builds, newest first.
  Result<std::vector<BuildRecord>> list(const std::string& campaign);
  // Returns the last build of each campaign, newest first.
  Result<std::vector<BuildRecord>> last_of_each();
  // Returns the first build here that ran an action. Only its id, started, campaign and targets are
  // set. Nullopt: no build here ran the action.
  Result<std::optional<BuildRecord>> first_that_ran(const Digest& key);
  // Returns the edges that a build recorded, in the order of their ends.
  Result<std::vector<EdgeRecord>> edges(int64_t build);
  // Returns the last record of the edge that makes `output` in a campaign's builds.
  Result<std::optional<EdgeRecord>> last_edge(const std::string& campaign,
                                              const std::string& output);
  // Returns the key in the record that last_edge() returns. Nullopt: there is no such record.
  Result<std::optional<Digest>> last_key(const std::string& campaign, const std::string& output);
  // Returns the last record of each output in any build, sorted by output.
  Result<std::vector<EdgeRecord>> last_edges();
  // Returns the last records of a step's edges that did not fail, newest first, at most `count`.
  Result<std::vector<EdgeRecord>> last_edges_of(const std::string& step, int count);
  // Returns an edge's last record from the builds before `build`, in the same campaign.
  Result<std::optional<EdgeRecord>> edge_before(const std::string& output, int64_t build);

 private:
  BuildTable(Database& database, ActionTable& results, Statement last_edge)
      : database_(&database), results_(&results), last_edge_(std::move(last_edge)) {}
  Result<EdgeRecord> read_edge(const Statement& row);
  // Returns the rows of the table `build` that `where`, which is SQL, selects, newest first.
  Result<std::vector<BuildRecord>> builds_where(const std::string& where,
                                                const std::function<void(Statement&)>& bind);
  // Returns the rows of the table `edge` that `where`, which is SQL, selects.
  Result<std::vector<EdgeRecord>> edges_where(const std::string& where,
                                              const std::function<void(Statement&)>& bind);

  Database* database_;
  ActionTable* results_;
  Statement last_edge_;  // prepared once, because builds use it for each edge
};

}  // namespace evolve::cache
