#include "engine/core/key.h"

#include <array>
#include <bit>
#include <cstdint>

namespace evolve {

namespace {

static_assert(std::endian::native == std::endian::little, "keys are hashed as they lie in memory");

}  // namespace

Digest part_digest(std::string_view tag, std::string_view name, std::string_view value) {
  thread_local std::string bytes;
  const std::array<uint32_t, 2> sizes = {static_cast<uint32_t>(tag.size()),
                                         static_cast<uint32_t>(name.size())};
  bytes.assign(reinterpret_cast<const char*>(sizes.data()), sizeof sizes);
  bytes.append(tag).append(name).append(value);
  return digest_of(bytes);
}

void KeyWriter::add(std::string_view tag, std::string_view name, std::string_view value) {
  digests_.push_back(part_digest(tag, name, value));
  if (keep_ == Keep::parts) {
    parts_.push_back({std::string(tag), std::string(name), std::string(value)});
  }
}

void KeyWriter::clear() {
  digests_.clear();
  parts_.clear();
}

Digest KeyWriter::key() const {
  static const Digest scheme = digest_of(kKeyScheme);
  thread_local std::vector<Digest> all;
  all.assign(1, scheme);
  all.insert(all.end(), digests_.begin(), digests_.end());
  return digest_of({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Digest)});
}

}  // namespace evolve
