// The table of block sizes that were found for a kernel: what `evolve tune` writes and a kernel's
// api.py reads. The format, evolve-tuned-1, is in kernels/tuned.py. Pure.
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

// Sizes that share their block sizes: each rounded up to a power of two.
using Bucket = std::map<std::string, int64_t>;
Bucket bucket_of(const std::map<std::string, int64_t>& dims);

// The bench cases of a bucket, which are tuned together.
struct BucketCases {
  Bucket bucket;
  std::vector<std::string> cases;
};
// Of a spec's bench cases, in the order of the first of each.
std::vector<BucketCases> buckets_of(const Spec& spec);

struct TunedTime {
  std::string case_name;
  double seconds = 0;
  double seed_seconds = 0;
};

struct TunedEntry {
  std::string device;                         // JAX's device_kind: "TPU7x"
  std::string dtype;                          // of the kernel's first input
  std::map<std::string, std::string> dtypes;  // of all its inputs, by their names
  Bucket bucket;
  Point block_sizes;
  std::string kind;  // of the times: "modelled" or "measured"
  std::vector<TunedTime> times;
  std::string evidence;  // digest of the selection that these come from
  int rounds = 0;        // that were searched
  int64_t points = 0;    // that were judged in them, the seed's not among them
};

struct UpdatedTable {
  nlohmann::json table;
  std::vector<nlohmann::json> kept;  // entries that are better than what was to take their place
  std::vector<nlohmann::json> taken_out;  // those that are not allowed
};

// `table` with these entries, each in place of what was there for its device, dtype and bucket; a
// null table is an empty one. What was there stays where it was found under the same conditions
// (the same kind of time of the same cases, for which the seed takes what it took, within 1 %) and
// is faster. An entry that the spec's parameters and constraints do not allow is taken out. Bad
// input: it is no such table, or another kernel's.
Result<UpdatedTable> with_entries(const nlohmann::json& table, const std::string& kernel,
                                  const Spec& spec, const std::vector<TunedEntry>& entries);

}  // namespace evolve::search
