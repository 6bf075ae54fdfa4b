// The port to what machines share: files by their SHA-256, and small records by names of our own.
// Implemented by cache/, and by the fakes of tests/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// A file as others find it.
struct StoredFile {
  std::string sha256;
  int64_t bytes = 0;
  bool is_executable = false;

  friend bool operator==(const StoredFile&, const StoredFile&) = default;
};

// A file that is to be fetched, and the path that it is to have, whose folder exists.
struct WantedFile {
  StoredFile file;
  std::string path;
};

// What stands under a name. A store may keep the files for as long as it keeps the record.
struct StoreRecord {
  std::vector<StoredFile> files;
  std::string text;
};

class Store {
 public:
  virtual ~Store() = default;
  // Sees to it that the store has the bytes of these files: what it has is not sent. Says what they
  // are, in their order. `external` where it cannot be reached.
  virtual Result<std::vector<StoredFile>> put(std::span<const std::string> paths) = 0;
  // Fetches files. `failed` where one is not there any more, or is not what its name says.
  virtual Status fetch(std::span<const WantedFile> files) = 0;
  // `name` is a SHA-256, and no file's.
  virtual Status put_record(const std::string& name, const StoreRecord& record) = 0;
  // The records of these names; nullopt: there is none, or what is there is no record.
  virtual Result<std::vector<std::optional<StoreRecord>>> records(
      std::span<const std::string> names) = 0;
};

}  // namespace evolve
