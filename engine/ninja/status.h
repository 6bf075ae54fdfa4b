// The output of `evolve ninja` while it builds: Ninja's status line, the commands' output and
// failures.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/build/build.h"
#include "engine/build/scan.h"
#include "engine/ninja/line_printer.h"
#include "engine/ninja/options.h"
#include "engine/ninja/status_format.h"

namespace evolve::ninja {

class StatusPrinter : public Listener {
 public:
  // `pending`: the edges that a scan found, which are counted from the start. All arguments must
  // outlive the printer.
  StatusPrinter(const Graph& graph, const std::vector<Pending>& pending, const Options& options,
                const StatusFormat& format, Terminal terminal, Clock& clock);

  void dyndep_loaded(NodeId file) override;
  void planned(const Graph&, const BuildPlan&) override {}
  void started(const EdgeEvent& event) override;
  void finished(const EdgeEvent& event, const BuildPlan& plan) override;
  // Prints nothing, because the edge's end already reports the fault, as in Ninja.
  void fault(const Error&) override {}
  void tick(const BuildPlan&) override {}
  // Prints the text that waited for a console command, and ends the line.
  void end();

 private:
  void print_status(const EdgeEvent& event);
  void explain(EdgeId id);
  void print_failure(const EdgeEvent& event);
  void print_output(const EdgeEvent& event);
  [[nodiscard]] double elapsed() const;

  const Graph& graph_;
  const Options& options_;
  const StatusFormat& format_;
  Clock& clock_;
  double start_;
  LinePrinter printer_;
  bool shows_starts_;  // on a smart terminal the line shows starts, too
  std::map<EdgeId, const Pending*> pending_;
  // Edges whose dyndep file was read in this build. As in Ninja, they are explained twice.
  std::set<EdgeId> looked_at_again_;
  Counts counts_;
};

// Returns why an edge has to run, with a line for each reason. The words are Ninja's if Ninja has
// the same reason.
std::vector<std::string> explanations(const Graph& graph, const Pending& pending);

}  // namespace evolve::ninja
