// Payments: decides which edge runs ("pays for") an action that several edges need. Edges of one
// build, and builds of several processes on the same records, may need the same action. The
// action's command runs once, and the other edges wait for the result.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class Payments {
 public:
  // `claims` must outlive this.
  explicit Payments(Claims& claims) : claims_(claims) {}
  // Releases the claims, so that a build that breaks off leaves its actions to others.
  ~Payments();
  Payments(const Payments&) = delete;
  Payments& operator=(const Payments&) = delete;

  enum class Turn {
    pays,   // the edge runs the command and then calls end()
    joins,  // another edge of this build pays, and end() returns this edge
    waits,  // another process pays
  };
  // Enters an edge that is about to run an action. An edge that pays may enter again.
  Result<Turn> enter(EdgeId edge, const Digest& action);
  // Returns an edge that waited for another process and now pays, because that process has finished
  // the action or died. If that process stored a result, the memo has it.
  Result<std::optional<EdgeId>> next_to_pay();
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  // Ends the payment of an action. Returns the edges that joined the paying edge. `result` is null
  // if there is no result to share.
  std::vector<EdgeId> end(const Digest& action, const ActionResult* result);
  // Returns the result of the edge of this build that ran the action; null: no edge ran the action.
  [[nodiscard]] const ActionResult* result_of(const Digest& action) const;

 private:
  struct Payer {
    EdgeId edge{};
    std::vector<EdgeId> joined;
  };

  Claims& claims_;
  std::unordered_map<Digest, Payer> paying_;
  std::unordered_map<Digest, ActionResult> paid_;
  std::vector<std::pair<EdgeId, Digest>> waiting_;  // payers whose action another process runs
};

}  // namespace evolve
