// The explanation of a build: the edges that are not up to date, the origins of stored results, and
// the edges that the last build ran. `evolve why` and the dry run show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/build/scan.h"
#include "engine/core/action.h"

namespace evolve {

// The first computation of a result, and its cost.
struct ResultOrigin {
  struct FirstBuild {
    int64_t id = 0;
    std::string campaign;
    std::string targets;
  };
  std::optional<FirstBuild> build = {};  // nullopt: the result came from elsewhere
  std::string built_at;                  // UTC
  std::string built_on;                  // the machine's name; empty in old results
  double seconds = 0;                    // wall time of the run
  std::string paid_by;                   // first output of the edge that ran the action
};

// An edge that is not up to date. The reasons are texts, which may name the changed lines of files.
struct PendingEdge {
  // The past result of the same step whose key differs least.
  struct Nearest {
    std::string output;
    std::vector<std::string> changes;  // empty: the same input under another name
  };
  std::string output;  // the first
  std::string step;
  std::string subject;
  Pending::Need need = Pending::Need::run;
  std::vector<std::string> reasons;
  std::optional<ResultOrigin> origin = {};  // set for restore
  std::optional<Nearest> nearest = {};      // run: set if the edge itself has no record
};

// The up-to-date edges of a step whose results come from one build, or from one other machine.
struct StoredEdges {
  std::string step;
  int count = 0;
  // `seconds` is the sum over all edges, and `built_at` is the earliest time. `paid_by` is empty if
  // there is more than one edge.
  ResultOrigin origin;
};

// The last build, and the edges that it ran, in the manifest's order.
struct LastBuild {
  struct Edge {
    std::string output;
    std::string step;
    std::string subject;
    Outcome outcome = Outcome::ran;
    double seconds = 0;
    std::vector<std::string> reasons;
  };
  int64_t id = 0;
  std::string started;  // UTC
  std::string targets;
  std::string outcome;
  std::vector<Edge> edges = {};
};

struct Explanation {
  std::vector<PendingEdge> pending;
  std::vector<StoredEdges> stored;
  std::optional<LastBuild> last_build;  // nullopt: there was no build
};

}  // namespace evolve
