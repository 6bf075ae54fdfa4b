// The reasons for what a build would run: which parts of keys have changed, where stored results
// come from, and what the last build ran.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/open_campaign.h"
#include "engine/build/lookup.h"
#include "engine/build/scan.h"
#include "engine/core/key_change.h"
#include "engine/core/text/line_diff.h"

namespace evolve {

class Why {
 public:
  Why(OpenCampaign& opened, const std::vector<NodeId>& targets);

  // Whether a build would run anything. Putting stored files back does not count.
  Result<bool> would_run();

  // Returns the edges that are not up to date, and why.
  Result<nlohmann::json> pending();

  // Says which answers models may have to give again; empty: no answers. REQUIRES: pending() was
  // called.
  Result<std::string> asked_again();

  // Returns where up-to-date results come from, by step and build. REQUIRES: pending() was called.
  Result<nlohmann::json> stored();

  // Returns what the last build ran of the targets, and why; null: there was no build.
  Result<nlohmann::json> last_build();

 private:
  Result<std::vector<Pending>> look();
  Result<nlohmann::json> row_of(const Pending& one);

  // Returns the parts that differ. Discovered inputs are left out if `after` has none: which ones
  // an edge will discover is not known before it runs.
  static std::vector<KeyChange> changes_of(const std::vector<KeyPart>& before,
                                           const std::vector<KeyPart>& after);

  // Returns the past result of the same step whose key differs least; null: there is no past
  // result.
  Result<nlohmann::json> nearest_of(EdgeId id, const std::vector<KeyPart>& now);

  // Returns where a result was first computed, and what it cost.
  Result<nlohmann::json> origin_of(const ActionResult& result);
  static void add_to_group(std::map<std::pair<std::string, std::string>, nlohmann::json>& groups,
                           const std::string& step, const ActionResult& result,
                           const nlohmann::json& origin);
  Result<std::vector<std::string>> past_reasons(const EdgeRecord& edge, std::optional<EdgeId> id,
                                                int64_t build);
  std::vector<std::string> describe(EdgeId id, std::vector<KeyChange> changes);

  // Returns the changed lines of an input; empty: it is no input, or one of its two texts is gone.
  std::vector<LineChange> lines_of(const KeyChange& change);
  std::optional<std::string> text_of_digest(const std::string& hex, const std::string& path);

  OpenCampaign& opened_;
  Graph& graph_;
  std::vector<MachineBinding> machine_;
  const std::vector<NodeId>& targets_;
  Snapshot snapshot_;
  Lookup lookup_;
  std::set<EdgeId> seen_;
  std::vector<Pending> found_;
};

}  // namespace evolve
