// `evolve agent`.
#include <memory>

#include "engine/cli/command_line.h"
#include "k8s/agent/agent.h"

namespace evolve::cli {

void add_agent(CommandLine& line) {
  auto* agent = line.app().add_subcommand(
      "agent", "run the orders of a build (this command runs in a node's container)");
  auto settings = std::make_shared<k8s::AgentSettings>();
  agent->add_option("--orders", settings->orders, "the folder of the orders")->required();
  agent->add_option("--job", settings->job, "the Job that this container belongs to")->required();
  agent->add_option("--store", settings->store.url, "the store for files: http://… or gs://…")
      ->required();
  agent->add_option("--message", settings->message,
                    "write the digests of the records to this file");
  agent->add_option("--folder", settings->folder,
                    "the folder to work in (default: a folder in $TMPDIR)");
  agent
      ->add_option("-j,--jobs", settings->at_once,
                   "number of orders to run in parallel (default: 1)")
      ->check(CLI::Range(1, 1024));
  line.on(*agent, [settings](const CommonOptions&) { return k8s::run_agent(*settings); });
}

}  // namespace evolve::cli
