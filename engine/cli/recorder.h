// From a build that has ended to the records of its rounds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cache/ledger.h"
#include "engine/cli/campaign.h"
#include "engine/cli/state.h"
#include "engine/core/graph.h"
#include "engine/core/ports.h"
#include "engine/core/record.h"
#include "engine/lookup.h"

namespace evolve::cli {

// The ledger of a build, which also remembers what each edge gave in it.
class Recorder : public Ledger {
 public:
  // What there is must outlive this.
  explicit Recorder(Ledger& ledger) : ledger_(ledger) {}

  Result<std::optional<ActionResult>> recall(const Digest& key) override {
    return ledger_.recall(key);
  }
  Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) override {
    return ledger_.recall_discovered(declared_key);
  }
  Status record(const EdgeRecord& record) override;
  Status flush() override { return ledger_.flush(); }
  Result<std::optional<EdgeRecord>> last_record(const std::string& output) override {
    return ledger_.last_record(output);
  }

  // What each edge gave that has ended well, by its record name.
  [[nodiscard]] const std::map<std::string, ActionResult>& results() const { return results_; }

 private:
  Ledger& ledger_;
  std::map<std::string, ActionResult> results_;
};

// What `edges` gave in a build that has ended, and what sources they read.
Result<Record> record_of(const Graph& graph, const std::vector<EdgeId>& edges, Lookup& lookup,
                         const std::map<std::string, ActionResult>& results);

// Records rounds 0 to `round` of a campaign that was built, with their sources as blobs; none where
// `round` is 0.
Status record_rounds(const Campaign& campaign, const std::string& toolchain, int round,
                     const Graph& graph, Lookup& lookup, const Recorder& recorder, State& state);

}  // namespace evolve::cli
