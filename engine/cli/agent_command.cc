// `evolve agent`: runs steps of a build in a pod's container.
#include <memory>

#include "engine/cli/commands.h"
#include "k8s/agent/agent.h"

namespace evolve::cli {

void add_agent(Commands& commands) {
  auto agent = commands.add(
      "agent", "run steps of a build in a container (builds on a cluster start this command)");
  auto settings = std::make_shared<k8s::AgentSettings>();
  agent
      .add("--orders", settings->orders,
           "the folder of the orders: a JSON file for each step to run")
      .required();
  agent.add("--job", settings->job, "the name of the Kubernetes Job that this container belongs to")
      .required();
  agent
      .add("--store", settings->store.url,
           "the store of inputs and outputs: http://…, https://… or gs://…")
      .required();
  agent.add("--message", settings->message, "write the digest of each order's record to this file");
  agent.add("--folder", settings->folder, "the folder to work in (default: a folder in $TMPDIR)");
  agent.add("-j,--jobs", settings->at_once, "number of orders to run in parallel (default: 1)")
      .between(1, 1024);
  commands.on(agent, [settings](const CommonOptions&) { return k8s::run_agent(*settings); });
}

}  // namespace evolve::cli
