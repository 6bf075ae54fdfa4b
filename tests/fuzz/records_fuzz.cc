// A fuzz test of the readers of files that earlier builds left: ninja's two logs, and a snapshot.
// The snapshot gets a valid check sum, because otherwise its bytes would not be read.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "engine/build/snapshot.h"
#include "engine/graph/manifest.h"
#include "engine/ninja/ninja_logs.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // A log that was read is the same after it is written and read again.
  if (auto log = ninja::parse_build_log(bytes)) {
    auto again = ninja::parse_build_log(ninja::encode(*log));
    if (!again || again->entries.size() != log->entries.size()) std::abort();
  }
  if (auto deps = ninja::DepsLog::parse(bytes)) {
    auto again = ninja::DepsLog::parse(deps->encode());
    if (!again || again->by_output().size() != deps->by_output().size()) std::abort();
  }
  constexpr std::string_view kMagic = "evolve-snapshot-2\n";
  const Digest check = digest_of(bytes);
  bytes.insert(0, reinterpret_cast<const char*>(&check), sizeof check);
  bytes.insert(0, kMagic);
  Graph graph;
  auto parsed = parse_manifest(
      "build.ninja",
      [](const std::string&) {
        return Result<std::string>("rule c\n  command = c\nbuild a: c b\n");
      },
      graph);
  if (!parsed) std::abort();
  auto snapshot = Snapshot::decode(bytes, graph);
  if (snapshot) (void)snapshot->encode(graph);
  return 0;
}
