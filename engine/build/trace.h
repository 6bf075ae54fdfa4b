// A build's timeline in Chrome's trace format (chrome://tracing, ui.perfetto.dev), with the
// critical path: the chain of edges that the build waited for. Each edge of the chain was the last
// one for which the next edge waited.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/build/build.h"

namespace evolve {

// Records the edges that ran, and passes all events on to the next listener.
class Trace : public Listener {
 public:
  // Both must outlive the trace.
  Trace(Listener& next, Clock& clock) : next_(next), clock_(clock) {}

  void dyndep_loaded(NodeId file) override { next_.dyndep_loaded(file); }
  void planned(const Graph& graph, const BuildPlan& plan) override;
  void started(const EdgeEvent& event) override;
  void finished(const EdgeEvent& event, const BuildPlan& plan) override;
  void fault(const Error& error) override { next_.fault(error); }
  void tick(const BuildPlan& plan) override { next_.tick(plan); }

  // Returns the JSON object, with times in microseconds from the start of the build. `tid` is the
  // job slot. `args.critical` marks the critical path, which `otherData` lists from its first edge
  // on.
  [[nodiscard]] std::string json() const;
  // Writes the JSON object to a file, and makes the file's folder.
  Status write(Files& files, const std::string& path) const;
  // Returns one line for people: how many commands ran, how long the critical path is, and its
  // longest edge.
  [[nodiscard]] std::string summary() const;

 private:
  struct Span {
    EdgeId edge{};
    std::string step, subject;
    double start = 0;
    double end = 0;  // seconds since the build's start
    size_t slot = 0;
    bool has_failed = false;
  };

  // Returns the critical path, from its first edge on, as places in spans_.
  [[nodiscard]] std::vector<size_t> critical_path() const;
  [[nodiscard]] std::string name_of(const Span& span) const;

  Listener& next_;
  Clock& clock_;
  const Graph* graph_ = nullptr;
  double start_ = 0;
  std::vector<Span> spans_;
  std::map<EdgeId, size_t> running_;  // places in spans_
  std::set<size_t> free_slots_;
  size_t slots_ = 0;
};

}  // namespace evolve
