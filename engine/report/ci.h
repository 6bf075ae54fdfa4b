// Reports of a build for continuous integration: a JUnit report with a test case for each step's
// edge, and a summary in Markdown.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/build/build.h"

namespace evolve {

// Notes how each edge ended, and passes every event on to another listener.
class CiReport : public Listener {
 public:
  // `next` must outlive this.
  explicit CiReport(Listener& next) : next_(next) {}

  void dyndep_loaded(NodeId file) override { next_.dyndep_loaded(file); }
  void planned(const Graph& graph, const BuildPlan& plan) override { next_.planned(graph, plan); }
  void started(const EdgeEvent& event) override { next_.started(event); }
  void finished(const EdgeEvent& event, const BuildPlan& plan) override;
  void fault(const Error& error) override { next_.fault(error); }
  void tick(const BuildPlan& plan) override { next_.tick(plan); }

  // Returns JUnit's XML: a suite for each step, a case for each edge. A command that failed is a
  // failure. A variant's verdict other than "ok" is not a failure of the build, and is shown as a
  // skipped case with that verdict. `fault`: why the build as a whole failed, which is a case of
  // its own; empty: the build did not fail.
  [[nodiscard]] std::string junit(const std::string& campaign, const std::string& fault) const;

 private:
  Listener& next_;
  std::vector<EdgeEvent> ended_;
};

// Returns the summary in Markdown of a build's report (`build_report`, with `remote_cache` if the
// build used a remote cache). `fault`: as in junit().
std::string ci_summary(const nlohmann::json& report, const std::string& fault);

}  // namespace evolve
