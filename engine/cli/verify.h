// A recorded round, its files put back, and its pure steps run anew.
#pragma once

#include <string>
#include <vector>

#include "cache/blob_store.h"
#include "engine/cli/commands.h"
#include "engine/cli/past.h"
#include "engine/cli/state.h"
#include "engine/core/record.h"
#include "engine/world/guard.h"

namespace evolve::cli {

// Puts recorded files back.
class Placer {
 public:
  explicit Placer(State& from)
      : files_(from.files), blobs_(from.folder + "/blobs", from.files, Sharing::bytes) {}

  // Puts a file there; notes one whose bytes are gone.
  Status place(const RecordedFile& file, const std::string& to);
  // An error where anything is gone.
  [[nodiscard]] Status end() const;
  [[nodiscard]] int placed() const { return placed_; }

 private:
  world::DiskFiles& files_;
  cache::FolderBlobStore blobs_;
  std::vector<std::string> gone_;
  int placed_ = 0;
};

struct Machine {
  world::Guard& guard;
  int jobs = 0;  // 0: one a core
};

// Runs the round's pure steps anew in `folder`, which is laid out as a project of its own and
// becomes the current one; what is measured or recorded is taken from `from`, where the record
// lies, with an absolute path. Prints each difference with its first place. An error of code
// `failed` where there is any.
Status verify(const CommonOptions& common, const PastRound& past, State& from,
              const Machine& machine, const std::string& folder);

// As verify(), `times` times, each in a folder of its own below `folder` and with another seed of
// hashes, another time zone, locale, PATH and place for temporary files, and in another order.
Status check_determinism(const CommonOptions& common, const PastRound& past, State& from,
                         const Machine& machine, const std::string& folder, int times);

}  // namespace evolve::cli
