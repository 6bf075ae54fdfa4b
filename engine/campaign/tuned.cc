#include "engine/campaign/tuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"

namespace evolve::search {

namespace {

using nlohmann::json;
constexpr const char* kFormat = "evolve-tuned-1";

std::string string_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Returns the key of an entry. Entries are sorted by their keys.
auto key_of(const json& entry) {
  return std::tuple(string_of(entry, "device"), string_of(entry, "dtype"),
                    json_line(member(entry, "bucket")));
}

json record_of(const TunedEntry& entry) {
  json times = json::array();
  for (const TunedTime& time : entry.times) {
    times.push_back(
        {{"case", time.case_name}, {"seconds", time.seconds}, {"seed_seconds", time.seed_seconds}});
  }
  return {{"device", entry.device},           {"dtype", entry.dtype},   {"dtypes", entry.dtypes},
          {"bucket", entry.bucket},           {"kind", entry.kind},     {"times", times},
          {"block_sizes", entry.block_sizes}, {"rounds", entry.rounds}, {"points", entry.points},
          {"evidence", entry.evidence}};
}

// Returns how much longer `other` takes than `entry`: the sum of log(other / entry) over all cases.
// Nullopt: the two were not found under the same conditions.
std::optional<double> slowdown(const TunedEntry& entry, const json& other) {
  constexpr double kSame = 0.01;
  const json& times = member(other, "times");
  if (string_of(other, "kind") != entry.kind || !times.is_array() ||
      times.size() != entry.times.size())
    return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const TunedTime& own = entry.times[i];
    const json& seconds = member(times[i], "seconds");
    const json& seed = member(times[i], "seed_seconds");
    const bool is_time = seconds.is_number() && seconds.get<double>() > 0 && seed.is_number();
    if (!is_time || string_of(times[i], "case") != own.case_name) return std::nullopt;
    if (std::fabs(seed.get<double>() / own.seed_seconds - 1) > kSame) return std::nullopt;
    sum += std::log(seconds.get<double>() / own.seconds);
  }
  return sum;
}

// Whether the spec's parameters can have these values, and its constraints allow them.
bool is_allowed(const Space& space, const json& sizes) {
  Point point;
  if (!sizes.is_object()) return false;
  for (const auto& [name, value] : sizes.items()) {
    if (!value.is_number_integer()) return false;
    point[name] = value.get<int64_t>();
  }
  const auto names = space.names();
  const bool is_whole = std::all_of(names.begin(), names.end(),
                                    [&](const std::string& name) { return point.contains(name); });
  if (!is_whole || !space.index_of(point)) return false;
  const auto holds = space.allows(point);
  return holds && *holds;
}

}  // namespace

Bucket bucket_of(const std::map<std::string, int64_t>& dims) {
  Bucket out;
  for (const auto& [name, size] : dims) {
    out[name] = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
  }
  return out;
}

std::vector<BucketCases> buckets_of(const Spec& spec) {
  std::vector<BucketCases> out;
  for (const Case& one : spec.cases) {
    if (!one.has_tag("bench")) continue;
    Bucket bucket = bucket_of(one.dims);
    auto same = std::find_if(out.begin(), out.end(),
                             [&](const BucketCases& other) { return other.bucket == bucket; });
    if (same == out.end()) same = out.insert(out.end(), {std::move(bucket), {}});
    same->cases.push_back(one.name);
  }
  return out;
}

Result<UpdatedTable> with_entries(const json& table, const std::string& kernel, const Spec& spec,
                                  const std::vector<TunedEntry>& entries) {
  constexpr double kRounding = 1e-9;
  UpdatedTable out;
  json all = json::array();
  if (!table.is_null()) {
    if (string_of(table, "format") != kFormat)
      return bad_input(fmt::format("the format is not {}", kFormat));
    if (string_of(table, "kernel") != kernel)
      return bad_input(
          fmt::format("the table belongs to the kernel '{}'", string_of(table, "kernel")));
    if (!member(table, "entries").is_array()) return bad_input("the list of entries is missing");
    all = table["entries"];
  }
  for (const TunedEntry& entry : entries) {
    json record = record_of(entry);
    auto same = std::find_if(all.begin(), all.end(),
                             [&](const json& other) { return key_of(other) == key_of(record); });
    if (same == all.end()) {
      all.push_back(std::move(record));
    } else if (slowdown(entry, *same).value_or(0) < -kRounding) {
      out.kept.push_back(*same);
    } else {
      *same = std::move(record);
    }
  }
  TRY_ASSIGN(auto space, Space::make(spec.parameters, spec.constraints));
  json allowed = json::array();
  for (json& entry : all) {
    if (is_allowed(space, member(entry, "block_sizes"))) {
      allowed.push_back(std::move(entry));
    } else {
      out.taken_out.push_back(std::move(entry));
    }
  }
  json parameters = json::object();
  for (const Parameter& one : spec.parameters) parameters[one.name] = one.values;
  std::stable_sort(allowed.begin(), allowed.end(),
                   [](const json& one, const json& other) { return key_of(one) < key_of(other); });
  out.table = {{"format", kFormat},
               {"kernel", kernel},
               {"parameters", std::move(parameters)},
               {"constraints", spec.constraints},
               {"entries", std::move(allowed)}};
  return out;
}

}  // namespace evolve::search
