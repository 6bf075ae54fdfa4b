// Differences between two keys, part by part, and their text.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/action.h"

namespace evolve {

// Returns the versions in the text of a toolchain, such as "cpython-3.11.2 jax-0.10.2", by name.
std::map<std::string, std::string> versions_of(const std::string& toolchain);

// A part that differs between two keys.
struct KeyChange {
  std::string tag;
  std::string name;
  std::optional<std::string> before, after;  // values; nullopt: the key has no such part
};
// Returns the differences in the order of `after`, then the parts that only `before` has.
std::vector<KeyChange> changes_between(std::span<const KeyPart> before,
                                       std::span<const KeyPart> after);
// Returns a text such as "toolchain: jax 0.10.1 -> 0.10.2" or "input 'x' is new".
std::string text_of(const KeyChange& change);
// Returns what the changed part is called, such as "input 'x'" or "command".
std::string label_of(const KeyChange& change);

}  // namespace evolve
