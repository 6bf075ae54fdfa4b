// The ledger's account of the resources that builds used: by step (the table `tally`) and by node
// pool (the table `node_use`).
#pragma once

#include <map>
#include <string>

#include "cache/sqlite.h"
#include "engine/core/ports.h"

namespace evolve::cache {

// The totals of what builds did for one step.
struct Tally {
  int64_t ran = 0, cached = 0, failed = 0;
  double spent_seconds = 0;  // of commands that ran
  double saved_seconds = 0;  // of commands whose results were cached
};

class UseTable {
 public:
  // Both arguments must outlive the table. `build` is the number of the build under way.
  UseTable(Database& database, const int64_t& build) : database_(&database), build_(&build) {}

  // Adds what this build did, by step.
  Status record_steps(const std::map<std::string, Tally>& by_step);
  // Returns the totals of all builds, by step.
  Result<std::map<std::string, Tally>> steps();
  // Returns the seconds that a campaign's runs of a step took, in all its builds.
  Result<double> spent_seconds(const std::string& campaign, const std::string& step);
  // Adds this build's use of nodes, by node pool.
  Status record_pools(const std::map<std::string, PoolUse>& by_pool);
  // Returns all builds' use of nodes, by node pool.
  Result<std::map<std::string, PoolUse>> nodes();

 private:
  Database* database_;
  const int64_t* build_;
};

}  // namespace evolve::cache
