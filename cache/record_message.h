// The message that a server keeps under a record's name: an ActionResult of Bazel's Remote
// Execution API, so that Bazel's servers see which files the record needs. cache/README.md
// describes the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/store.h"

namespace evolve::cache {

// Limit for the size of a record's message, in bytes.
constexpr int64_t kMostEntryBytes = 1 << 20;

std::string encode_record(const StoreEntry& record);

// Decodes bytes that are not trusted. Nullopt: they are not such a message. The caller must check
// the text.
std::optional<StoreEntry> decode_record(const std::string& bytes);

}  // namespace evolve::cache
