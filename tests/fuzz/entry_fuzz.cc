// A fuzz test of the reader of a remote cache's answer: a message with an entry inside.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cache/remote_entry.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Digest key = digest_of("a key");
  std::string why;
  auto entry = cache::decode_entry(key, bytes, why);
  if (!entry) return why.empty() ? std::abort(), 0 : 0;
  if (entry->result && entry->files.size() != entry->result->outputs.size()) std::abort();
  auto again = cache::decode_entry(key, cache::encode_entry(key, *entry), why);
  if (!again || again->files != entry->files || again->discovered != entry->discovered) {
    std::abort();
  }
  return 0;
}
