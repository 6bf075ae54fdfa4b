// What stands in a remote cache for an action key. Format in cache/README.md.
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
  // None: the key is a declared one, and what stands under it are the inputs that a run discovered.
  std::optional<ActionResult> result;
  std::vector<StoredFile> files;  // of the result's outputs, in their order
  std::vector<std::string> discovered;
};

// The name of a key's entry: a SHA-256, as the protocol wants it.
std::string entry_name(const Digest& key);

std::string encode_entry(const Digest& key, const RemoteEntry& entry);

// Trusts nothing. Nullopt, and `why` says it: the bytes are no entry, or that of another key.
std::optional<RemoteEntry> decode_entry(const Digest& key, const std::string& bytes,
                                        std::string& why);

}  // namespace evolve::cache
