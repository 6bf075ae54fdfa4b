// The program `evolve agent`, which a node's container runs. It takes orders (k8s/order.h) from a
// folder, runs each in a folder of its own, and leaves outputs and records in the store.
#pragma once

#include <string>

#include "engine/app/elsewhere/remote.h"
#include "engine/core/result.h"

namespace evolve::k8s {

struct AgentSettings {
  std::string orders;    // folder: NAME.json, an order, and NAME.job, the Job that is to run it
  std::string job;       // our Job; orders of other Jobs are left out
  RemoteSettings store;  // its address is required
  std::string message;   // file for the records' digests, a line for each order; empty: none
  std::string folder;    // folder to work in; empty: one in $TMPDIR
  int at_once = 1;       // orders at a time
};

// Runs our orders, except those that have a record. Succeeds if every order of ours has a record in
// the end, whatever its command's exit code. Bad input: orders that cannot run here, so another try
// would not help.
Status run_agent(const AgentSettings& settings);

}  // namespace evolve::k8s
