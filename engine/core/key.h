// Action keys: the digest of all that may change an edge's result, and the parts it was made of.
// One writer, two sinks: the parts that `why` prints are the very ones that were hashed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"
#include "engine/core/graph.h"

namespace evolve {

// Bumped whenever the meaning of a key changes: every key then is new.
constexpr const char* kKeyScheme = "evolve-key-3";

// The digest of one part: of the lengths of tag and name, four bytes each, and the three texts, so
// that no two parts are the same bytes.
Digest part_digest(std::string_view tag, std::string_view name, std::string_view value);

// Collects parts in order. A key is XXH3-128 over the digest of the scheme and those of the parts,
// 16 bytes each: a part that many keys share, a header say, is hashed once.
class KeyWriter {
 public:
  enum class Keep {
    parts,    // what was hashed can be told: for keys that are stored
    digests,  // the key alone: for the look at edges of which most are up to date
  };
  explicit KeyWriter(Keep keep = Keep::parts) : keep_(keep) {}

  void add(std::string_view tag, std::string_view name, std::string_view value);
  // A part whose digest is known. REQUIRES: Keep::digests.
  void add(const Digest& part) { digests_.push_back(part); }
  void clear();
  [[nodiscard]] Digest key() const;
  [[nodiscard]] const std::vector<KeyPart>& parts() const { return parts_; }

 private:
  Keep keep_;
  std::vector<Digest> digests_;
  std::vector<KeyPart> parts_;
};

// Paths of this machine that must not be part of a key: each stands in it as "$name".
struct MachineBinding {
  std::string name;
  std::string value;
};

// Replaces a machine's path at the start of a path: "/home/me/state/x" -> "$state/x".
std::string symbolic_path(std::string_view path, std::span<const MachineBinding> machine);
// The path that symbolic_path() made `symbolic` of.
std::string machine_path(std::string_view symbolic, std::span<const MachineBinding> machine);

// Does that to a whole command, and undoes it: absolute paths of the machine wherever they stand,
// others at the start of a word or behind its '='.
std::string symbolic_command(std::string command, std::span<const MachineBinding> machine);
std::string machine_command(std::string_view symbolic, std::span<const MachineBinding> machine);

// True for "$name" of a binding, without more. Among discovered inputs it says that the run
// depended on what that path is.
bool is_binding(std::string_view symbolic, std::span<const MachineBinding> machine);

// What the world tells of an edge's inputs, in the order of Edge::content_inputs().
struct InputDigests {
  std::vector<Digest> content;
  std::vector<std::pair<std::string, std::string>> environment;  // declared variables: name, value
};

// Adds the declared parts of an edge's key: rule, command, inputs, outputs, environment, toolchain,
// response file, device kind and protocol. An edge with `portable = 1` does not depend on what its
// files are called: its inputs and outputs count by position, so that two variants with the same
// program share one result. Absolute paths of the machine count for nothing wherever they stand in
// a command, others at the start of a word.
void write_key(const Graph& graph, EdgeId edge, const InputDigests& inputs,
               std::span<const MachineBinding> machine, KeyWriter& key);

// A toolchain's text, "cpython-3.11.2 jax-0.10.2", as versions by name.
std::map<std::string, std::string> versions_of(const std::string& toolchain);

// A part that two keys do not share.
struct KeyChange {
  std::string tag;
  std::string name;
  std::optional<std::string> before, after;  // values; nullopt: the key has no such part
};
// In the order of `after`, then the parts that only `before` has.
std::vector<KeyChange> changes_between(std::span<const KeyPart> before,
                                       std::span<const KeyPart> after);
// "input 'x': 0123… -> 4567…", "toolchain: jax 0.10.1 -> 0.10.2", "input 'x' is new".
std::string text_of(const KeyChange& change);
// "input 'x'", "command".
std::string label_of(const KeyChange& change);

}  // namespace evolve
