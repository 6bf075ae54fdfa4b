// `evolve agent`: what a node's container runs. It takes orders (k8s/order.h) from a folder, runs
// each in a folder of its own, and leaves outputs and records in the store.
#pragma once

#include <string>

#include "engine/app/elsewhere/remote.h"
#include "engine/core/result.h"

namespace evolve::k8s {

struct AgentSettings {
  std::string orders;    // folder: NAME.json, an order, and NAME.job, the Job that is to run it
  std::string job;       // ours: orders of others are left out
  RemoteSettings store;  // its address is required
  std::string message;   // file for the records' digests, a line an order; empty: none
  std::string folder;    // to work in; empty: one in $TMPDIR
  int at_once = 1;       // orders
};

// Orders that have a record are not run again. Good where every order of ours has one in the end,
// whatever its command's exit code. Bad input: orders that nobody could run here, for which another
// try is no use.
Status run_agent(const AgentSettings& settings);

}  // namespace evolve::k8s
