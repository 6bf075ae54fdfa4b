// Action keys: the digest of all that may change an edge's result, and the parts it was made of.
// One writer, two sinks: the parts that `why` prints are the very ones that were hashed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"
#include "engine/core/graph.h"

namespace evolve {

// Bumped whenever the meaning of a key changes: every key then is new.
constexpr const char* kKeyScheme = "evolve-key-1";

// Collects parts in order. A key is XXH3-128 over the scheme and, for each part, tag, name and
// value, each framed by its length, so that no two lists of parts are the same bytes.
class KeyWriter {
 public:
  void add(std::string tag, std::string name, std::string value);
  [[nodiscard]] Digest key() const;
  [[nodiscard]] const std::vector<KeyPart>& parts() const { return parts_; }

 private:
  std::vector<KeyPart> parts_;
};

// Paths of this machine that must not be part of a key: each stands in it as "$name".
struct MachineBinding {
  std::string name;
  std::string value;
};

// Replaces a machine's path at the start of a path: "/home/me/state/x" -> "$state/x".
std::string symbolic_path(const std::string& path, std::span<const MachineBinding> machine);

// What the world tells of an edge's inputs, in the order of Edge::content_inputs().
struct InputDigests {
  std::vector<Digest> content;
  std::vector<std::pair<std::string, std::string>> environment;  // declared variables: name, value
};

// Writes the declared parts of an edge's key: rule, command, inputs, outputs, environment,
// toolchain, response file. An edge with `portable = 1` does not depend on what its files are
// called: its inputs and outputs count by position, so that two variants with the same program
// share one result.
KeyWriter write_key(const Graph& graph, EdgeId edge, const InputDigests& inputs,
                    std::span<const MachineBinding> machine);

// "input 'x': 0123… -> 4567…" for each part that differs between two keys, new parts and lost ones
// too.
std::vector<std::string> describe_changes(std::span<const KeyPart> before,
                                          std::span<const KeyPart> after);

}  // namespace evolve
