// A bundle as it is read from a stranger: nothing in it is believed.
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

// Format: cache/README.md.
constexpr const char* kBundleFormat = "evolve-bundle-2";
constexpr const char* kBundleIndex = "index.json";
constexpr const char* kBundleRecords = "records.json";
constexpr const char* kBundleResults = "results.json";
constexpr std::string_view kBundleBlobs = "blobs/";

// A folder that goes away.
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
  std::string selection;  // empty: there is none
};

struct Bundle {
  std::string campaign;
  std::vector<BundledRound> rounds;  // from the first on
  std::set<std::string> blobs;       // their digests; the files lie by these names in `scratch`
  std::vector<ActionResult> results;
  std::unique_ptr<Scratch> scratch;
};

// Whether a campaign may be called so: it has one line, and is a file's name.
bool is_campaign_name(const std::string& name);

// A round's selection, as records name it.
std::string selection_path(int round);

// The blobs that a record needs, by digest.
std::set<std::string> blobs_of(const Record& record);

// Reads and checks all of it. Blobs come to files in a new folder `scratch`, and nothing is stored
// elsewhere. Bad input, with the place, where anything is not as the format says. REQUIRES: the
// seal holds.
Result<Bundle> read_bundle(const std::string& path, Files& files, const std::string& scratch);

}  // namespace evolve
