// What a build leaves for continuous integration: a JUnit report, a step's edge a test case, and a
// summary in Markdown.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/build/build.h"

namespace evolve {

// Takes note of how each edge ended, and passes everything on.
class CiReport : public Listener {
 public:
  // `next` must outlive this.
  explicit CiReport(Listener& next) : next_(next) {}

  void dyndep_loaded(NodeId file) override { next_.dyndep_loaded(file); }
  void planned(const Graph& graph, const Plan& plan) override { next_.planned(graph, plan); }
  void started(const EdgeEvent& event) override { next_.started(event); }
  void finished(const EdgeEvent& event, const Plan& plan) override;
  void fault(const Error& error) override { next_.fault(error); }
  void tick(const Plan& plan) override { next_.tick(plan); }

  // JUnit's XML: a suite a step, a case an edge. A command that failed is a failure; a variant's
  // verdict other than "ok" is no failure of the build, and shows as a skipped case that says it.
  // `fault`: why the build as a whole failed, a case of its own; empty: it did not.
  [[nodiscard]] std::string junit(const std::string& campaign, const std::string& fault) const;

 private:
  Listener& next_;
  std::vector<EdgeEvent> ended_;
};

// The summary in Markdown of a build's report (`build_report`, with `remote_cache` where one was
// used). `fault`: as above.
std::string ci_summary(const nlohmann::json& report, const std::string& fault);

}  // namespace evolve
