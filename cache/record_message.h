// What stands on a server under a name: an ActionResult of Bazel's Remote Execution API, so that
// servers of Bazel's see which files it needs. Format in cache/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/store.h"

namespace evolve::cache {

// More than this a record does not have.
constexpr int64_t kMostEntryBytes = 1 << 20;

std::string encode_record(const StoreRecord& record);

// Trusts nothing: nullopt where the bytes are no such message. What the text says is for the caller
// to judge.
std::optional<StoreRecord> decode_record(const std::string& bytes);

}  // namespace evolve::cache
