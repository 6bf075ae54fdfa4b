// What travels to a node and back: an order, one edge's command with all that it reads, and the
// record of its run. Formats in k8s/README.md. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/machine_paths.h"
#include "engine/core/ports.h"
#include "engine/core/store.h"

namespace evolve::k8s {

// Paths are relative to the folder that the command runs in, or symbolic (key.h).
struct Order {
  std::string key;      // of the action, without discovered inputs, in hex
  std::string command;  // symbolic
  std::map<std::string, std::string> environment;
  double timeout_seconds = 0;  // 0: none
  bool is_sandboxed = false;
  std::string toolchain;  // "cpython-3.11.2 jax-0.10.2 …"; empty: any
  std::vector<std::pair<std::string, StoredFile>> inputs;
  // What it may read besides, and is no part of the key.
  std::vector<std::pair<std::string, StoredFile>> surroundings;
  std::vector<std::string> outputs;
  std::string depfile;  // empty: none
};

// What was made of an order, and how.
struct Run {
  std::string order;  // its name
  int exit_status = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string output;                                  // what it printed
  std::optional<std::vector<std::string>> discovered;  // of its depfile, symbolic; none: no depfile
  std::vector<StoredFile> files;                       // its outputs; none where it failed
  std::string node;
};

// The order of an errand. `files` are its inputs' and its surroundings', in their order.
// Bad input: a path that is absolute, and none of the machine's.
Result<Order> order_of(const Command& command, std::span<const MachineBinding> machine,
                       std::span<const StoredFile> files);

std::string encode_order(const Order& order);
// Trusts nothing. Bad input: no order, or paths that lead out of its folder.
Result<Order> decode_order(std::string_view text);

// Of its key and its surroundings, which is what can make a difference: 64 hex digits, the same on
// every machine.
std::string order_name(const Order& order);

// The name of its record. Of a run that failed there is one for the Job alone that it ran in.
std::string run_name(const std::string& order, std::string_view job = "");
StoreRecord encode_run(const Run& run);
// Trusts nothing: nullopt where that is no record of the order.
std::optional<Run> decode_run(const std::string& order, const StoreRecord& record);

}  // namespace evolve::k8s
