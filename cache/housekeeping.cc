#include "cache/housekeeping.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "engine/core/record.h"

namespace evolve::cache {

namespace {

// Added to each blob's age, in seconds. Otherwise a blob that is a second old would be worth sixty
// times as much as a blob that is a minute old.
constexpr double kHour = 3600;

// Returns the seconds of command time that a byte of the blob saves, divided by the time since the
// last use.
double worth(const Weighed& blob) {
  const auto bytes = static_cast<double>(std::max<int64_t>(blob.bytes, 1));
  return blob.cost_seconds / bytes / (blob.age_seconds + kHour);
}

// Drops the memo's results that cannot be restored; returns how many.
Result<int64_t> drop_broken(const LocalCache& local) {
  std::vector<Digest> broken;
  auto status = local.memo.for_each([&](const ActionResult& result) -> Status {
    TRY_ASSIGN(auto lost, lost_blobs(result, local.blobs));
    if (!lost.empty()) broken.push_back(result.key);
    return {};
  });
  if (!status) return std::move(status).error();
  TRY(local.memo.drop(broken));
  return static_cast<int64_t>(broken.size());
}

// Calls `visit` for each file of each record. Stops when `visit` fails.
Status for_each_file(
    RoundTable& log,
    const std::function<Status(const RecordedRound&, const RecordedFile&)>& visit) {
  return log.for_each_record([&](const RecordedRound& stored) -> Status {
    auto record = decode_record(stored.text);
    if (!record) return std::move(record).error().within(fmt::format("record {}", stored.id));
    for (const RecordedFile& file : files_of(*record)) {
      TRY(visit(stored, file));
    }
    return {};
  });
}

}  // namespace

std::vector<size_t> what_goes(std::span<const Weighed> blobs, const GcLimits& limits) {
  std::vector<size_t> out, rest;
  double bytes = 0;
  for (size_t i = 0; i < blobs.size(); ++i) {
    const Weighed& blob = blobs[i];
    const bool may_go = !blob.is_pinned && blob.age_seconds >= kInUseSeconds;
    if (may_go && limits.max_age_seconds && blob.age_seconds > *limits.max_age_seconds) {
      out.push_back(i);
      continue;
    }
    bytes += static_cast<double>(blob.bytes);
    if (may_go) rest.push_back(i);
  }
  if (!limits.max_bytes) return out;
  std::stable_sort(rest.begin(), rest.end(),
                   [&](size_t a, size_t b) { return worth(blobs[a]) < worth(blobs[b]); });
  for (size_t i : rest) {
    if (bytes <= *limits.max_bytes) break;
    bytes -= static_cast<double>(blobs[i].bytes);
    out.push_back(i);
  }
  return out;
}

Result<std::unordered_set<Digest>> pinned(RoundTable& log) {
  std::unordered_set<Digest> out;
  auto status = for_each_file(log, [&](const RecordedRound&, const RecordedFile& file) -> Status {
    out.insert(file.content);
    return {};
  });
  if (!status) return std::move(status).error();
  return out;
}

Result<GcReport> gc(const LocalCache& local, const GcLimits& limits, double now, bool dry_run) {
  TRY_ASSIGN(auto needed, pinned(local.ledger.rounds()));
  std::unordered_map<Digest, double> costs;
  auto status = local.memo.for_each([&](const ActionResult& result) -> Status {
    for (const Digest& output : result.outputs) {
      costs[output] = std::max(costs[output], result.seconds);
    }
    return {};
  });
  if (!status) return std::move(status).error();
  TRY_ASSIGN(auto blobs, local.blobs.list());
  GcReport report;
  std::vector<Weighed> weighed;
  for (const StoredBlob& blob : blobs) {
    auto cost = costs.find(blob.digest);
    weighed.push_back({blob.bytes, now - blob.used, cost == costs.end() ? 0 : cost->second,
                       needed.contains(blob.digest)});
    ++report.blobs;
    report.bytes += blob.bytes;
    if (weighed.back().is_pinned) report.pinned_bytes += blob.bytes;
  }
  for (size_t i : what_goes(weighed, limits)) {
    ++report.removed_blobs;
    report.removed_bytes += blobs[i].bytes;
    if (dry_run) continue;
    TRY(local.blobs.remove(blobs[i].digest));
  }
  if (dry_run) return report;
  TRY_ASSIGN(auto dropped, drop_broken(local));
  report.removed_results = dropped;
  return report;
}

namespace {

// Asks the remote cache for all results that lack a blob. Returns the blobs that were missing and
// are present now.
Result<std::unordered_set<Digest>> fetch_lost(const LocalCache& local, RemoteCache& remote) {
  std::vector<Digest> keys;
  std::unordered_set<Digest> lost;
  auto note = [&](const ActionResult& result) -> Status {
    TRY_ASSIGN(auto its, lost_blobs(result, local.blobs));
    lost.insert(its.begin(), its.end());
    if (!its.empty()) keys.push_back(result.key);
    return {};
  };
  TRY(local.memo.for_each(note));
  // From the ledger, only the results that records need are fetched, because gc removed the blobs
  // of the others on purpose.
  auto status = local.ledger.rounds().for_each_record([&](const RecordedRound& stored) -> Status {
    TRY_ASSIGN(auto record, decode_record(stored.text));
    for (const RecordedStep& step : record.steps) {
      TRY_ASSIGN(auto result, local.ledger.recall(step.key));
      if (!result) continue;
      TRY(note(*result));
    }
    return {};
  });
  if (!status) return std::move(status).error();
  if (status = remote.foresee(keys); !status) return std::move(status).error();
  std::unordered_set<Digest> found;
  for (const Digest& blob : lost) {
    TRY_ASSIGN(auto is_there, local.blobs.contains(blob));
    if (is_there) found.insert(blob);
  }
  return found;
}

}  // namespace

Result<VerifyReport> verify(const LocalCache& local, RemoteCache* remote) {
  VerifyReport report;
  TRY_ASSIGN(auto blobs, local.blobs.list());
  for (const StoredBlob& blob : blobs) {
    ++report.blobs;
    report.bytes += blob.bytes;
    TRY_ASSIGN(auto is_sound, local.blobs.check(blob.digest));
    if (!is_sound) report.damaged.push_back(blob.digest.hex());
  }
  if (remote != nullptr) {
    TRY_ASSIGN(auto found, fetch_lost(local, *remote));
    for (const std::string& blob : report.damaged) {
      if (found.contains(Digest::from_hex(blob).value_or(Digest{}))) {
        report.repaired.push_back(blob);
      }
    }
    report.fetched = static_cast<int64_t>(found.size() - report.repaired.size());
  }
  std::set<std::string> missing;
  auto status = for_each_file(
      local.ledger.rounds(), [&](const RecordedRound& stored, const RecordedFile& file) -> Status {
        if (file.content == folder_digest()) return {};
        TRY_ASSIGN(auto is_there, local.blobs.contains(file.content));
        if (is_there) return {};
        missing.insert(fmt::format("round-{} of {}: {}", stored.round, stored.campaign, file.path));
        return {};
      });
  if (!status) return std::move(status).error();
  report.missing.assign(missing.begin(), missing.end());
  TRY_ASSIGN(auto dropped, drop_broken(local));
  report.removed_results = dropped;
  auto faults = local.memo.check();
  if (!faults) return std::move(faults).error();
  report.faults = *std::move(faults);
  faults = local.ledger.check();
  if (!faults) return std::move(faults).error();
  report.faults.insert(report.faults.end(), faults->begin(), faults->end());
  return report;
}

}  // namespace evolve::cache
