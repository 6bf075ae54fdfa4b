// The entry of a remote cache for an action key. cache/README.md describes the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"
#include "engine/core/store.h"

namespace evolve::cache {

struct RemoteEntry {
  // Nullopt: the key is a declared key, and the entry holds the inputs that a run discovered.
  std::optional<ActionResult> result;
  std::vector<StoredFile> files;  // the result's outputs, in their order
  std::vector<std::string> discovered;
};

// Returns the name of a key's entry: a SHA-256, as the protocol requires.
std::string entry_name(const Digest& key);

std::string encode_entry(const Digest& key, const RemoteEntry& entry);

// Decodes bytes that are not trusted. Nullopt: they are not an entry, or are the entry of another
// key; `why` gets the reason.
std::optional<RemoteEntry> decode_entry(const Digest& key, const std::string& bytes,
                                        std::string& why);

}  // namespace evolve::cache
