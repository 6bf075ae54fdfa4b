// The port to the store that machines share: files by their SHA-256, and small records under names
// of our own. cache/ and the fakes of tests/ implement the port.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// A file in the store, as other machines find it.
struct StoredFile {
  std::string sha256;
  int64_t bytes = 0;
  bool is_executable = false;

  friend bool operator==(const StoredFile&, const StoredFile&) = default;
};

// A file to fetch, and the path to put it at. The path's folder must exist.
struct WantedFile {
  StoredFile file;
  std::string path;
};

// A record of the store: a text and the files that belong to it, under a name. From the list of
// files, a store that deletes unused files can see which files the record needs.
struct StoreEntry {
  std::vector<StoredFile> files;
  std::string text;
};

class Store {
 public:
  virtual ~Store() = default;
  // Makes sure that the store has the bytes of these files. Sends only files that the store lacks.
  // Returns the stored files, in the order of `paths`. `external`: the store cannot be reached.
  virtual Result<std::vector<StoredFile>> put(std::span<const std::string> paths) = 0;
  // Fetches files. `failed`: a file is not there any more, or its bytes have another SHA-256.
  virtual Status fetch(std::span<const WantedFile> files) = 0;
  // Stores a record. `name` is a SHA-256 that no file has.
  virtual Status put_entry(const std::string& name, const StoreEntry& record) = 0;
  // Returns the records of these names. Nullopt: the name has no record, or something else is
  // stored under it.
  virtual Result<std::vector<std::optional<StoreEntry>>> records(
      std::span<const std::string> names) = 0;
};

}  // namespace evolve
