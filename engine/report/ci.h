// Reports of a build for continuous integration: a JUnit report with a test case for each step's
// edge, and a summary in Markdown.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/build/build.h"

namespace evolve {

// Notes how each edge ended, and passes everything on.
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
  // failure. A variant's verdict other than "ok" is no failure of the build, and shows as a skipped
  // case with that verdict. `fault`: why the build as a whole failed, which is a case of its own;
  // empty: it did not fail.
  [[nodiscard]] std::string junit(const std::string& campaign, const std::string& fault) const;

 private:
  Listener& next_;
  std::vector<EdgeEvent> ended_;
};

// Returns the summary in Markdown of a build's report (`build_report`, with `remote_cache` if one
// was used). `fault`: as above.
std::string ci_summary(const nlohmann::json& report, const std::string& fault);

}  // namespace evolve
