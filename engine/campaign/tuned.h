// The table of tuned block sizes of a kernel, which `evolve tune` writes and the kernel's api.py
// reads. kernels/tuned.py describes the format, evolve-tuned-1. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/campaign/spec.h"
#include "engine/core/result.h"
#include "engine/search/space/space.h"

namespace evolve::search {

// The sizes of a case, each rounded up to a power of two. The cases of a bucket share block sizes.
using Bucket = std::map<std::string, int64_t>;
Bucket bucket_of(const std::map<std::string, int64_t>& dims);

// The bench cases of a bucket, which are tuned together.
struct BucketCases {
  Bucket bucket;
  std::vector<std::string> cases;
};
// Returns the buckets of a spec's bench cases, in the order of their first cases.
std::vector<BucketCases> buckets_of(const Spec& spec);

struct TunedTime {
  std::string case_name;
  double seconds = 0;
  double seed_seconds = 0;
};

struct TunedEntry {
  std::string device;                         // JAX's device_kind: "TPU7x"
  std::string dtype;                          // of the kernel's first input
  std::map<std::string, std::string> dtypes;  // of all its inputs, by name
  Bucket bucket;
  Point block_sizes;
  std::string kind;  // of the times: "modelled" or "measured"
  std::vector<TunedTime> times;
  std::string evidence;  // digest of the selection that the block sizes come from
  int rounds = 0;        // rounds that were searched
  int64_t points = 0;    // points that were judged in them, without the seed's
};

struct UpdatedTable {
  nlohmann::json table;
  // Old entries that are faster than the new ones, and so stay.
  std::vector<nlohmann::json> kept;
  std::vector<nlohmann::json> taken_out;  // entries that are not allowed
};

// Returns `table` with these entries. Each entry replaces the old entry of its device, dtype and
// bucket. The old entry stays if it is faster and was found under the same conditions: the same
// kind of time, the same cases, and seed times within 1 %. An entry that the spec's parameters and
// constraints do not allow is taken out. A null table counts as empty. Bad input: `table` is not a
// table of tuned sizes, or it belongs to another kernel.
Result<UpdatedTable> with_entries(const nlohmann::json& table, const std::string& kernel,
                                  const Spec& spec, const std::vector<TunedEntry>& entries);

}  // namespace evolve::search
