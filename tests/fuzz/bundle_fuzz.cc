// A fuzz test of the reader of bundle files. A bundle file may have a valid seal, because anybody
// can seal anything. The reader may write only the blobs, into the folder that it gets, and must
// remove them in the end.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/replay/bundle_reader.h"
#include "engine/world/disk_files.h"

using namespace evolve;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string folder = [] {
    std::string name = "/dev/shm/evolve-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }();
  world::DiskFiles files;
  const std::string path = folder + "/bundle";
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!files.write(path, bytes)) std::abort();
  {
    auto bundle = read_bundle(path, files, folder + "/scratch");
    if (bundle && bundle->rounds.empty()) std::abort();
    if (bundle) {
      for (const std::string& blob : bundle->blobs) {
        auto digest = files.digest(folder + "/scratch/" + blob);
        if (!digest || !*digest || (*digest)->hex() != blob) std::abort();
      }
    }
  }
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path() != path) ++left;
  }
  if (left != 0) std::abort();
  return 0;
}
