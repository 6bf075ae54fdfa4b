// The build loop: plan → key → memo → run → digest → cut off → record, over ports alone.
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
  std::string step;     // "compile"; the rule's name where the manifest names no step
  std::string subject;  // "v0012 square_4096"; the first output where the manifest names none
  Outcome outcome = Outcome::hit;
  bool is_restored = false;  // a hit, some of whose files had to be put back
  bool has_console = false;  // the command has the terminal to itself
  std::string verdict;
  std::string output;   // what the command printed, when it ran
  int exit_status = 0;  // not 0: of a command that failed
  double seconds = 0;
};

// Told of everything that happens; prints what it likes. Called from the loop's own thread.
class Listener {
 public:
  virtual ~Listener() = default;
  // A dyndep file was read, and edges that bind it have what it says.
  virtual void dyndep_loaded(NodeId) {}
  virtual void planned(const Graph& graph, const Plan& plan) = 0;
  virtual void started(const EdgeEvent& event) = 0;
  virtual void finished(const EdgeEvent& event, const Plan& plan) = 0;
  // A fault of one edge; the build goes on as far as `keep_going` lets it.
  virtual void fault(const Error& error) = 0;
  // Called a few times a second while edges run.
  virtual void tick(const Plan& plan) = 0;
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
  // Null: what links lead to is stored, and comes back as files.
  Links* links = nullptr;
};

struct BuildOptions {
  int jobs = 1;        // edges at a time
  int keep_going = 1;  // stop after this many faults; 0: never
  CommandRules rules;
  Resources capacity;       // what running edges may need together (core/plan.h)
  uint64_t order_seed = 0;  // not 0: edges that are ready start in an order drawn with it
  bool tells_all = false;   // also of edges that were known to be up to date
  double max_load = 0;      // above it no command is started beside one that runs; 0: no limit
  std::map<std::string, std::string> command_environment;  // what every command gets
};

// What became of the edges of one step.
struct StepSummary {
  std::map<Outcome, int> outcomes;
  double spent_seconds = 0;  // of commands that ran
  double saved_seconds = 0;  // of those whose results were there
};

struct BuildSummary {
  std::map<std::string, StepSummary> by_step;
  int ran = 0;
  int cached = 0;  // hits and joined edges
  int failed = 0;
  int skipped = 0;
  int retried = 0;      // commands that failed and were run again
  int exit_status = 0;  // of the last command that failed
  double seconds = 0;
};

// Builds `targets`. Dyndep files are read into the graph as they are made. Faults of edges are told
// to the listener and counted; the build's own failure, or an interruption, is the returned error.
Result<BuildSummary> build(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup,
                           const BuildPorts& ports, const BuildOptions& options);

}  // namespace evolve
