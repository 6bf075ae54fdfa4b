// Who pays for an action. Edges of one build, and builds of several processes on the same records,
// that come to the same action run its command once: the others wait for its result.
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
  // A build that breaks off leaves its actions to others.
  ~Payments();
  Payments(const Payments&) = delete;
  Payments& operator=(const Payments&) = delete;

  enum class Turn {
    pays,   // it is to run the command, and then to end()
    joins,  // an edge of this build pays, whose end() tells of it
    waits,  // another process pays
  };
  // An edge has come to run an action. One that pays may come again.
  Result<Turn> enter(EdgeId edge, const Digest& action);
  // An edge that has waited for another process, and pays now: that one has ended with it, or died.
  // What it gave, if anything, is in the memo.
  Result<std::optional<EdgeId>> next_to_pay();
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  // An edge that paid is done: the edges that joined it. `result`: null where it failed.
  std::vector<EdgeId> end(const Digest& action, const ActionResult* result);
  // What an edge of this build gave that ran the action; null: none has.
  [[nodiscard]] const ActionResult* result_of(const Digest& action) const;

 private:
  struct Payer {
    EdgeId edge{};
    std::vector<EdgeId> joined;
  };

  Claims& claims_;
  std::unordered_map<Digest, Payer> paying_;
  std::unordered_map<Digest, ActionResult> paid_;
  std::vector<std::pair<EdgeId, Digest>> waiting_;  // payers whose action another process has
};

}  // namespace evolve
