// `evolve agent`.
#include <memory>

#include "engine/cli/command_line.h"
#include "k8s/agent/agent.h"

namespace evolve::cli {

void add_agent(CommandLine& line) {
  auto* agent =
      line.app().add_subcommand("agent", "what a node's container runs: orders of a build");
  auto settings = std::make_shared<k8s::AgentSettings>();
  agent->add_option("--orders", settings->orders, "the folder that they are in")->required();
  agent->add_option("--job", settings->job, "the Job that we are of")->required();
  agent->add_option("--store", settings->store.url, "where files travel: http://… or gs://…")
      ->required();
  agent->add_option("--message", settings->message, "write the records' digests to this file");
  agent->add_option("--folder", settings->folder, "where to work (default: in $TMPDIR)");
  agent->add_option("-j,--jobs", settings->at_once, "orders at a time (default: 1)")
      ->check(CLI::Range(1, 1024));
  line.on(*agent, [settings](const CommonOptions&) { return k8s::run_agent(*settings); });
}

}  // namespace evolve::cli
