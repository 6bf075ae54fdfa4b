// The explanation of a build: the changed parts of keys, the origins of stored results, and the
// edges that the last build ran.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/open_campaign.h"
#include "engine/build/explanation.h"
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
  Result<std::vector<PendingEdge>> pending();

  // Says which answers models may have to give again; empty: no answers. REQUIRES: pending() was
  // called.
  Result<std::string> asked_again();

  // Returns the whole explanation.
  Result<Explanation> explanation();

 private:
  Result<std::vector<Pending>> look();
  Result<PendingEdge> explain(const Pending& edge);

  // Returns the origins of the results that are up to date, by build and step. REQUIRES: pending()
  // was called.
  Result<std::vector<StoredEdges>> stored();

  // Returns the edges of the targets that the last build ran, and why. Nullopt: there was no build.
  Result<std::optional<LastBuild>> last_build();

  // Returns the parts that differ. If `after` has no discovered inputs, those of `before` are left
  // out, because an edge's discoveries are not known before the edge runs.
  static std::vector<KeyChange> changes_of(const std::vector<KeyPart>& before,
                                           const std::vector<KeyPart>& after);

  // Returns the past result of the same step whose key differs least. Nullopt: no past result.
  Result<std::optional<PendingEdge::Nearest>> nearest_of(EdgeId id,
                                                         const std::vector<KeyPart>& now);

  Result<ResultOrigin> origin_of(const ActionResult& result);
  Result<std::vector<std::string>> past_reasons(const EdgeRecord& edge, std::optional<EdgeId> id,
                                                int64_t build);
  std::vector<std::string> describe(EdgeId id, std::vector<KeyChange> changes);

  // Returns the changed lines of an input; empty: the part is not an input, or one of its two texts
  // is gone.
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
