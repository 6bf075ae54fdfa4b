// The reader of bundle files. It checks everything in them, because they come from strangers.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/ports.h"
#include "engine/core/record.h"

namespace evolve {

// The format, and the names of the files in a bundle file (cache/README.md).
constexpr const char* kBundleFormat = "evolve-bundle-2";
constexpr const char* kBundleIndex = "index.json";
constexpr const char* kBundleRecords = "records.json";
constexpr const char* kBundleResults = "results.json";
constexpr std::string_view kBundleBlobs = "blobs/";

// A folder that is removed with the object.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct BundledRound {
  int number = 0;
  std::string recorded;   // UTC
  std::string record;     // evolve-record-2
  std::string selection;  // empty: the round has no selection
};

struct BundleFile {
  std::string campaign;
  std::vector<BundledRound> rounds;  // from round 0 on
  std::set<std::string> blobs;       // digests; the files of these names are in `scratch`
  std::vector<ActionResult> results;
  std::unique_ptr<Scratch> scratch;
};

// Whether a campaign may have this name: it is one line, and can be the name of a file.
bool is_campaign_name(const std::string& name);

// Returns the path of a round's selection, as records name it.
std::string selection_path(int round);

// Returns the digests of the blobs that a record needs.
std::set<std::string> blobs_of(const Record& record);

// Reads and checks a whole bundle file. Blobs become files in a new folder `scratch`, and nothing
// is stored elsewhere. Bad input, with the place: something is not as the format says. REQUIRES:
// check_seal() has accepted the file.
Result<BundleFile> read_bundle(const std::string& path, Files& files, const std::string& scratch);

}  // namespace evolve
