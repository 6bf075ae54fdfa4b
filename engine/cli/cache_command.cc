// `evolve cache`: lists the contents of a state folder, removes old blobs, and checks the folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cache/housekeeping.h"
#include "engine/app/elsewhere/build_pods.h"
#include "engine/app/elsewhere/remote.h"
#include "engine/app/state.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/text/units.h"
#include "engine/graph/extensions.h"
#include "engine/report/output.h"
#include "engine/report/table.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

struct CacheCommand {
  std::string max_size;  // "20G"; empty: no limit
  std::string max_age;   // "30d"; empty: no limit
  bool dry_run = false;
  std::string digest;     // for `path`: the first digits of a blob's digest
  RemoteSettings remote;  // for `verify`
};

// Opens the state folder that the options name or imply. The folder must exist.
Result<std::unique_ptr<State>> open_existing(const CommonOptions& common) {
  TRY_ASSIGN(auto place, find_campaign(common.campaign));
  std::error_code error;
  if (!std::filesystem::exists(place.state, error)) {
    return bad_input(fmt::format("{}: no state folder", place.state), "", "name one with --state");
  }
  std::string warning;
  auto state = open_state(place.state, Sharing::names, warning);
  if (state && !warning.empty()) common.warn(warning);
  return state;
}

std::string blobs_text(int64_t blobs, int64_t bytes) {
  return fmt::format("{} blob{}, {}", blobs, blobs == 1 ? "" : "s", size_text(bytes));
}

// Reads an age as seconds: "30d", "12h", "90m", "45s", "45".
std::optional<double> parse_age(const std::string& text) {
  size_t end = 0;
  while (end < text.size() &&
         std::string_view("0123456789.").find(text[end]) != std::string::npos) {
    ++end;
  }
  if (end == 0 || end > 15) return std::nullopt;
  const double number = std::strtod(text.substr(0, end).c_str(), nullptr);
  for (auto [unit, seconds] :
       {std::pair("", 1), {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}}) {
    if (text.substr(end) == unit) return number * seconds;
  }
  return std::nullopt;
}

Result<cache::GcLimits> limits_of(const CacheCommand& command) {
  cache::GcLimits out;
  if (!command.max_size.empty()) {
    auto bytes = parse_size(command.max_size);
    if (!bytes) return std::move(bytes).error().within("--max-size");
    out.max_bytes = *bytes;
  }
  if (!command.max_age.empty()) {
    out.max_age_seconds = parse_age(command.max_age);
    if (!out.max_age_seconds) {
      return bad_input(
          fmt::format("--max-age: {}: not a duration, for example 30d", command.max_age));
    }
  }
  if (!out.max_bytes && !out.max_age_seconds) {
    return bad_input(
        "gc: a limit is missing", "",
        "use --max-size, --max-age or both: evolve cache gc --max-size 20G --max-age 30d");
  }
  return out;
}

Status run_cache_stats(const CommonOptions& common) {
  TRY_ASSIGN(auto state, open_existing(common));
  TRY_ASSIGN(auto blobs, state->blobs->list());
  TRY_ASSIGN(auto needed, cache::pinned(state->ledger->rounds()));
  TRY_ASSIGN(auto tallies, state->ledger->use().steps());
  TRY_ASSIGN(auto uses, state->ledger->use().nodes());
  int64_t results = 0;
  auto counted = state->memo->for_each([&](const ActionResult&) -> Status {
    ++results;
    return {};
  });
  if (!counted) return counted;
  int64_t bytes = 0, kept = 0, kept_bytes = 0;
  for (const cache::StoredBlob& blob : blobs) {
    bytes += blob.bytes;
    if (!needed.contains(blob.digest)) continue;
    ++kept;
    kept_bytes += blob.bytes;
  }
  json steps = json::object();
  std::vector<std::vector<std::string>> rows = {
      {"step", "ran", "hits", "failed", "spent", "saved"}};
  cache::Tally all;
  auto add_row = [&](const std::string& name, const cache::Tally& tally) {
    rows.push_back({name, std::to_string(tally.ran), std::to_string(tally.cached),
                    std::to_string(tally.failed), duration(tally.spent_seconds),
                    duration(tally.saved_seconds)});
  };
  for (const auto& [step, tally] : tallies) {
    steps[step] = {{"ran", tally.ran},
                   {"hits", tally.cached},
                   {"failed", tally.failed},
                   {"spent_seconds", tally.spent_seconds},
                   {"saved_seconds", tally.saved_seconds}};
    add_row(step, tally);
    all.ran += tally.ran;
    all.cached += tally.cached;
    all.failed += tally.failed;
    all.spent_seconds += tally.spent_seconds;
    all.saved_seconds += tally.saved_seconds;
  }
  add_row("all", all);
  std::string text = fmt::format("{}\n{}; records pin {}\n{} results in the memo\n", state->folder,
                                 blobs_text(static_cast<int64_t>(blobs.size()), bytes),
                                 blobs_text(kept, kept_bytes), results);
  if (!tallies.empty()) text += "\n" + table(rows, "");
  std::vector<std::vector<std::string>> pool_rows = {{"nodes", "pods", "ran", "chip-seconds"}};
  for (const auto& [pool, use] : uses) {
    pool_rows.push_back({pool, std::to_string(use.pods), duration(use.seconds),
                         fmt::format("{:.0f}", use.chip_seconds)});
  }
  if (!uses.empty()) text += "\n" + table(pool_rows, "");

  print_result(common,
               {{"state", state->folder},
                {"blobs", blobs.size()},
                {"bytes", bytes},
                {"pinned_blobs", kept},
                {"pinned_bytes", kept_bytes},
                {"results", results},
                {"steps", steps},
                {"nodes", json_of(uses)}},
               text);
  return {};
}

Status run_cache_gc(const CommonOptions& common, const CacheCommand& command) {
  TRY_ASSIGN(auto limits, limits_of(command));
  TRY_ASSIGN(auto state, open_existing(common));
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  TRY_ASSIGN(auto report, cache::gc({*state->memo, *state->ledger, *state->blobs}, limits, now,
                                    command.dry_run));
  const int64_t left = report.bytes - report.removed_bytes;
  std::string text = fmt::format(
      "{} {}; {} remain{}\n", command.dry_run ? "would remove" : "removed",
      blobs_text(report.removed_blobs, report.removed_bytes),
      blobs_text(report.blobs - report.removed_blobs, left),
      report.pinned_bytes > 0
          ? fmt::format(", {} of it for the ledger's records", size_text(report.pinned_bytes))
          : "");
  print_result(common,
               {{"dry_run", command.dry_run},
                {"removed_blobs", report.removed_blobs},
                {"removed_bytes", report.removed_bytes},
                {"removed_results", report.removed_results},
                {"pinned_bytes", report.pinned_bytes},
                {"bytes", left}},
               text);
  if (limits.max_bytes && static_cast<double>(left) > *limits.max_bytes) {
    common.warn(fmt::format("{} remain, which is more than --max-size: they are pinned or in use",
                            size_text(left)));
  }
  return {};
}

Status run_cache_verify(const CommonOptions& common, const CacheCommand& command) {
  TRY_ASSIGN(auto state, open_existing(common));
  TRY_ASSIGN(auto remote, Remote::open(command.remote, *state));
  TRY_ASSIGN(auto report, cache::verify({*state->memo, *state->ledger, *state->blobs},
                                        remote ? &remote->cache() : nullptr));
  if (remote) {
    for (const std::string& warning : warnings_of(remote->finish())) {
      common.warn(warning);
    }
  }
  std::string text;
  for (const std::string& blob : report.damaged) {
    const auto& repaired = report.repaired;
    const bool is_repaired = std::find(repaired.begin(), repaired.end(), blob) != repaired.end();
    text += fmt::format("damaged: blob {}: {}\n", blob,
                        is_repaired ? "replaced from the remote cache"
                                    : "removed; edges that need it will run again");
  }
  if (report.fetched > 0) {
    text += fmt::format("lost: {} blobs: taken from the remote cache\n", report.fetched);
  }
  for (const std::string& file : report.missing) text += fmt::format("missing: {}\n", file);
  for (const std::string& fault : report.faults) text += fmt::format("damaged: {}\n", fault);
  text += fmt::format("{} read; {} damaged, {} results dropped, {} files of records missing\n",
                      blobs_text(report.blobs, report.bytes), report.damaged.size(),
                      report.removed_results, report.missing.size());
  print_result(common,
               {{"blobs", report.blobs},
                {"bytes", report.bytes},
                {"damaged", report.damaged},
                {"repaired", report.repaired},
                {"fetched", report.fetched},
                {"missing", report.missing},
                {"removed_results", report.removed_results},
                {"faults", report.faults}},
               text);
  const bool is_sound = report.damaged.size() == report.repaired.size() && report.missing.empty() &&
                        report.faults.empty();
  if (is_sound) return {};
  Error error = failed(fmt::format("{}: found damage", state->folder));
  error.hint = "evolve build restores what is missing";
  return error;
}

Status run_cache_path(const CommonOptions& common, const CacheCommand& command) {
  TRY_ASSIGN(auto state, open_existing(common));
  std::string path = state->folder;
  if (!command.digest.empty()) {
    TRY_ASSIGN(auto blobs, state->blobs->list());
    std::vector<Digest> found;
    for (const cache::StoredBlob& blob : blobs) {
      if (blob.digest.hex().starts_with(command.digest)) found.push_back(blob.digest);
    }
    if (found.size() != 1) {
      return bad_input(fmt::format("{}: {}", command.digest,
                                   found.empty()
                                       ? "no blob's digest starts with these digits"
                                       : "several blobs' digests start with these digits"));
    }
    path = state->blobs->path_of(found.front());
  }
  print_result(common, {{"path", path}}, path + "\n");
  return {};
}

}  // namespace

void add_cache(Commands& commands) {
  auto cache =
      commands.add("cache", "show, shrink and check the state folder: stats, gc, verify, path");
  cache.require_command();
  auto options = std::make_shared<CacheCommand>();
  auto with_options = [options](Status (*run)(const CommonOptions&, const CacheCommand&)) {
    return [options, run](const CommonOptions& common) { return run(common, *options); };
  };
  auto stats = cache.add_command("stats",
                                 "show the number of blobs (stored files) and results, and "
                                 "the time that each step took and saved");
  commands.on(stats, run_cache_stats);
  auto gc = cache.add_command(
      "gc",
      "remove blobs (stored files) that no recorded round needs, by --max-size, --max-age or both");
  gc.add("--max-size", options->max_size,
         "remove blobs until at most this size remains, for example 20G or 20GiB: old ones "
         "that are cheap to make again go first");
  gc.add("--max-age", options->max_age,
         "remove blobs that were not used for this long, for example 30d; units: s, m, h, d, w");
  gc.add("-n,--dry-run", options->dry_run, "print what would be removed, but remove nothing");
  commands.on(gc, with_options(run_cache_gc));
  auto verify =
      cache.add_command("verify", "read every blob (stored file), and remove damaged ones");
  verify.add("--remote-cache", options->remote.url,
             "take damaged and lost blobs from this remote cache: a URL of Bazel's HTTP "
             "protocol, or gs://bucket (default: $EVOLVE_REMOTE_CACHE)");
  commands.on(verify, with_options(run_cache_verify));
  auto path =
      cache.add_command("path", "print the path of the state folder, or of a blob (a stored file)");
  path.add("digest", options->digest,
           "the blob's digest, or its first digits (default: the state folder)");
  commands.on(path, with_options(run_cache_path));
  for (Parser command : cache.commands()) commands.add_common(command);
}

}  // namespace evolve::cli
