// `evolve agent`: runs steps of a build in a pod's container.
#include <memory>

#include "engine/cli/command_line.h"
#include "k8s/agent/agent.h"

namespace evolve::cli {

void add_agent(CommandLine& line) {
  auto* agent = line.app().add_subcommand(
      "agent", "run steps of a build in a container (builds on a cluster start this command)");
  auto settings = std::make_shared<k8s::AgentSettings>();
  agent
      ->add_option("--orders", settings->orders,
                   "the folder of the orders: a JSON file for each step to run")
      ->required();
  agent
      ->add_option("--job", settings->job,
                   "the name of the Kubernetes Job that this container belongs to")
      ->required();
  agent
      ->add_option("--store", settings->store.url,
                   "the store of inputs and outputs: http://…, https://… or gs://…")
      ->required();
  agent->add_option("--message", settings->message,
                    "write the digest of each order's record to this file");
  agent->add_option("--folder", settings->folder,
                    "the folder to work in (default: a folder in $TMPDIR)");
  agent
      ->add_option("-j,--jobs", settings->at_once,
                   "number of orders to run in parallel (default: 1)")
      ->check(CLI::Range(1, 1024));
  line.on(*agent, [settings](const CommonOptions&) { return k8s::run_agent(*settings); });
}

}  // namespace evolve::cli
