// The keys of actions. A key is the digest of everything that may change an edge's result.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/key.h"
#include "engine/core/machine_paths.h"
#include "engine/graph/graph.h"

namespace evolve {

// The digests of an edge's inputs, in the order of Edge::content_inputs(), and its environment.
struct InputDigests {
  std::vector<Digest> content;
  std::vector<std::pair<std::string, std::string>> environment;  // declared variables: name, value
};

// Adds the declared parts of an edge's key: rule, command, inputs, outputs, environment, toolchain,
// response file, sandbox, device kind and protocol. An edge with `portable = 1` does not depend on
// the names of its files: its inputs and outputs count by position, so that two variants with the
// same program share one result. The machine's paths do not count. Absolute paths are replaced
// anywhere in a command, and other paths only at the start of a word or after the word's first '='.
void write_key(const Graph& graph, EdgeId edge, const InputDigests& inputs,
               std::span<const MachineBinding> machine, KeyWriter& key);

}  // namespace evolve
