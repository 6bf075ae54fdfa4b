// The build loop: plan → key → memo → run → digest → cut off → record. It uses only the ports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/build/collect.h"
#include "engine/build/lookup.h"
#include "engine/build/plan.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

// An edge as it is reported to the user.
struct EdgeEvent {
  EdgeId edge{};
  std::string step;     // "compile"; default: the rule's name
  std::string subject;  // "v0012 square_4096"; default: the first output
  Outcome outcome = Outcome::hit;
  bool is_restored = false;  // a hit for which files had to be put back
  bool has_console = false;  // the command has the terminal to itself
  std::string verdict;
  std::string output;   // the command's output, when the command ran
  int exit_status = 0;  // not 0: the command failed with this status
  double seconds = 0;
};

// Receives all events of a build. The loop's own thread calls it.
class Listener {
 public:
  virtual ~Listener() = default;
  // Called when a dyndep file was read. The edges that bind the file get its inputs and outputs.
  virtual void dyndep_loaded(NodeId) {}
  virtual void planned(const Graph& graph, const BuildPlan& plan) = 0;
  virtual void started(const EdgeEvent& event) = 0;
  virtual void finished(const EdgeEvent& event, const BuildPlan& plan) = 0;
  // Called for a fault of one edge. `keep_going` decides whether the build goes on.
  virtual void fault(const Error& error) = 0;
  // Called about ten times a second, or more often, while edges run.
  virtual void tick(const BuildPlan& plan) = 0;
};

struct BuildPorts {
  Files& files;
  BlobStore& blobs;
  Memo& memo;
  Ledger& ledger;
  Claims& claims;
  Runner& runner;
  Clock& clock;
  Listener& listener;
  // Null: the files to which links lead are stored, and come back as plain files.
  Links* links = nullptr;
};

struct BuildOptions {
  int jobs = 1;        // edges at a time
  int keep_going = 1;  // stop after this many faults; 0: never
  CommandRules rules;
  Resources capacity;       // the amounts that running edges may need together (plan.h)
  uint64_t order_seed = 0;  // not 0: ready edges start in an order drawn with this seed
  bool tells_all = false;   // also reports edges that were known to be up to date
  double max_load = 0;      // above this load, a command starts only if none runs; 0: no limit
  std::map<std::string, std::string> command_environment;  // variables that every command here gets
};

// The outcomes and times of one step's edges.
struct StepSummary {
  std::map<Outcome, int> outcomes;
  double spent_seconds = 0;  // of commands that ran
  double saved_seconds = 0;  // of earlier runs whose results were reused
};

struct BuildSummary {
  std::map<std::string, StepSummary> by_step;
  int ran = 0;
  int cached = 0;  // hits and joined edges
  int failed = 0;
  int skipped = 0;
  int retried = 0;      // commands that were run again
  int exit_status = 0;  // of the last command that failed
  double seconds = 0;
};

// Builds `targets`. Dyndep files are read into the graph as they are made. Faults of edges go to
// the listener and are counted. The returned error is the build's own failure, or an interruption.
// `hits`: the hits that a scan of the same targets found, which are not looked up again.
Result<BuildSummary> build(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup,
                           const BuildPorts& ports, const BuildOptions& options, Hits hits = {});

}  // namespace evolve
