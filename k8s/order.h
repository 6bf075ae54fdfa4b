// Orders and the records of their runs, which travel to a node and back. An order is one edge's
// command with all that it reads. k8s/README.md describes the formats. Pure.
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

// Paths are relative to the folder that the command runs in, or symbolic (machine_paths.h).
struct Order {
  std::string key;      // the action's key, without discovered inputs, in hex
  std::string command;  // symbolic
  std::map<std::string, std::string> environment;
  double timeout_seconds = 0;  // 0: none
  bool is_sandboxed = false;
  std::string toolchain;  // "cpython-3.11.2 jax-0.10.2 …"; empty: any
  std::vector<std::pair<std::string, StoredFile>> inputs;
  // Files that the command may also read, and that are not part of the key.
  std::vector<std::pair<std::string, StoredFile>> surroundings;
  std::vector<std::string> outputs;
  std::string depfile;  // empty: none
};

// The outcome of an order's run.
struct Run {
  std::string order;  // the order's name
  int exit_status = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string output;                                  // the command's printed output
  std::optional<std::vector<std::string>> discovered;  // symbolic; nullopt: no depfile
  std::vector<StoredFile> files;                       // the outputs; empty: the run failed
  std::string node;
};

// Makes the order of an errand. `files`: its inputs, then its surroundings, both in the errand's
// order. Bad input: a path is outside of the project and of the machine's folders.
Result<Order> order_of(const Command& command, std::span<const MachineBinding> machine,
                       std::span<const StoredFile> files);

std::string encode_order(const Order& order);
// Decodes text that is not trusted. Bad input: the text is not an order, or has paths that lead out
// of the order's folder.
Result<Order> decode_order(std::string_view text);

// Returns the order's name: 64 hex digits, the same on every machine. The name depends on the key
// and the surroundings, because only these can change the result.
std::string order_name(const Order& order);

// Returns the name of an order's record. `job`: the Job of a failed run, because its record is only
// for that Job; empty: the run succeeded.
std::string run_name(const std::string& order, std::string_view job = "");
StoreEntry encode_run(const Run& run);
// Decodes a record that is not trusted. Nullopt: it is not a record of the order.
std::optional<Run> decode_run(const std::string& order, const StoreEntry& record);

}  // namespace evolve::k8s
