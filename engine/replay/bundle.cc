#include "engine/replay/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cache/action_table.h"
#include "engine/app/state.h"
#include "engine/core/crypto/content.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/json_text.h"
#include "engine/replay/bundle_reader.h"
#include "engine/replay/delivery.h"
#include "engine/replay/past.h"
#include "engine/world/archive.h"
#include "engine/world/files.h"
#include "engine/world/seal.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Writes a bundle file. Its index comes first, although the index is known only when all other
// files have been read.
class Exporter {
 public:
  Exporter(Past& past, const PastRound& round) : past_(past), round_(round) {}

  Status write(const std::string& path) {
    TRY(describe());
    size_t next = 0;
    auto status = world::write_archive(path, [&]() -> Result<std::optional<world::ArchivedFile>> {
      if (next == names_.size()) return std::optional<world::ArchivedFile>{};
      TRY_ASSIGN(auto file, load(names_[next++]));
      return std::optional(std::move(file));
    });
    return status ? world::seal(path, kBundleFormat) : status;
  }
  [[nodiscard]] size_t files() const { return names_.size(); }

 private:
  Status describe() {
    auto& log = past_.state->ledger->rounds();
    json records = json::array();
    for (const cache::RecordedRound& stored : round_.chain) {
      TRY_ASSIGN(auto selection, selection_of(stored));
      records.push_back({{"round", stored.round},
                         {"recorded", stored.recorded},
                         {"text", stored.text},
                         {"selection", selection}});
    }
    texts_[kBundleRecords] = json_line(records) + "\n";
    json results = json::array();
    for (const RecordedStep& step : round_.record.steps) {
      TRY_ASSIGN(auto result, log.recall_any(step.key));
      if (result) results.push_back({step.key.hex(), cache::encode_result(*result)});
    }
    texts_[kBundleResults] = json_line(results) + "\n";
    names_ = {kBundleIndex, kBundleRecords, kBundleResults};
    for (const std::string& blob : blobs_of(round_.record)) {
      names_.push_back(std::string(kBundleBlobs) + blob);
    }
    json files = json::object();
    for (const std::string& name : names_) {
      if (name == kBundleIndex) continue;
      TRY_ASSIGN(auto file, load(name));
      files[name] = {{"size", file.bytes.size()},
                     {"sha256", sha256(file.bytes)},
                     {"executable", file.is_executable}};
    }
    const json index = {{"format", kBundleFormat},
                        {"campaign", round_.stored.campaign},
                        {"round", round_.stored.round},
                        {"engine", EVOLVE_VERSION},
                        {"toolchain", round_.record.toolchain},
                        {"files", files}};
    texts_[kBundleIndex] = json_block(index, 1) + "\n";
    return {};
  }

  // Returns the selection that the record names, which need not be the round's last one; null: the
  // record names no selection.
  Result<json> selection_of(const cache::RecordedRound& stored) {
    TRY_ASSIGN(auto record, decode_record(stored.text));
    for (const RecordedFile& file : files_of(record)) {
      if (file.path != selection_path(stored.round)) continue;
      TRY_ASSIGN(auto text, load(std::string(kBundleBlobs) + file.content.hex()));
      return json(text.bytes);
    }
    return json();
  }

  Result<world::ArchivedFile> load(const std::string& name) {
    if (auto text = texts_.find(name); text != texts_.end()) {
      return world::ArchivedFile{name, text->second, false};
    }
    const Digest digest = Digest::from_hex(name.substr(kBundleBlobs.size())).value_or(Digest{});
    const std::string path = past_.state->blobs->path_of(digest);
    auto bytes = past_.state->files.read(path);
    if (!bytes || content_digest(*bytes) != digest) {
      Error gone = external(fmt::format("blob {} is missing or damaged", digest.hex()));
      gone.hint = "evolve cache verify lists the files of the round that are missing";
      return gone;
    }
    return world::ArchivedFile{name, *std::move(bytes), ::access(path.c_str(), X_OK) == 0};
  }

  Past& past_;
  const PastRound& round_;
  std::map<std::string, std::string> texts_;
  std::vector<std::string> names_;
};

// Stores the content of a bundle file that was read.
Status store(const BundleFile& bundle, const std::string& campaign, State& state) {
  for (const std::string& blob : bundle.blobs) {
    const Digest digest = Digest::from_hex(blob).value_or(Digest{});
    auto status = state.blobs->put_file(bundle.scratch->path() + "/" + blob, digest);
    if (!status) return status;
  }
  for (const ActionResult& result : bundle.results) {
    TRY(state.ledger->rounds().add_imported(result));
  }
  int64_t before = 0;
  for (const BundledRound& round : bundle.rounds) {
    TRY_ASSIGN(auto id, state.ledger->rounds().add_record(
                            {0, before, campaign, round.number, round.recorded, round.record},
                            cache::RecordOrigin::imported));
    before = id;
    if (round.selection.empty()) continue;
    auto status = state.ledger->rounds().record_selection(
        campaign, {round.number, round.recorded, round.selection});
    if (!status) return status;
  }
  return {};
}

// Whether a campaign of that name exists here with other records.
Result<bool> is_another(cache::RoundTable& log, const std::string& campaign,
                        const std::vector<BundledRound>& rounds) {
  for (const BundledRound& round : rounds) {
    TRY_ASSIGN(auto last, log.last_record(campaign, round.number));
    if (last && last->text != round.record) return true;
  }
  return false;
}

// Returns the first round, from 1, that was recorded here with another selection; 0: no round.
Result<int> other_selection(cache::RoundTable& log, const std::string& campaign,
                            const std::vector<BundledRound>& rounds) {
  TRY_ASSIGN(auto known, log.selections(campaign));
  for (const cache::RoundRecord& own : known) {
    for (const BundledRound& round : rounds) {
      const bool is_other = round.number == own.number && !round.selection.empty() &&
                            round.selection != own.selection;
      if (is_other) return own.number;
    }
  }
  return 0;
}

}  // namespace

Result<Answer> export_bundle(const CampaignFlags& options, const BundleRequest& request) {
  TRY_ASSIGN(auto past, open_past(options));
  TRY_ASSIGN(auto round, past.load(request.round, request.record));
  TRY(check_delivery(past, round));
  const std::string out = fs::absolute(request.path).lexically_normal().string();
  const std::string unnamed = fmt::format("{}.tmp{}", out, ::getpid());
  Exporter exporter(past, round);
  std::error_code error;
  if (auto status = exporter.write(unnamed); !status) {
    fs::remove(unnamed, error);
    return status.error();
  }
  const auto size = fs::file_size(unnamed, error);
  fs::rename(unnamed, out, error);
  if (error) return world::system_error("rename", out, error.value());
  return Answer{{{"campaign", round.stored.campaign},
                 {"round", round.stored.round},
                 {"record", round.stored.id},
                 {"files", exporter.files()},
                 {"bytes", size},
                 {"bundle", out}},
                fmt::format("{}, record {}: {} steps, {} files, {:.1f} MB in {}\n", round.name(),
                            round.stored.id, round.record.steps.size(), exporter.files(),
                            static_cast<double>(size) / 1e6, request.path)};
}

Result<Answer> import_bundle(const CampaignFlags& options, const BundleRequest& request) {
  if (!request.as.empty() && !is_campaign_name(request.as)) {
    return bad_input(fmt::format("--as {}: not a valid campaign name", request.as));
  }
  const std::string path = fs::absolute(request.path).lexically_normal().string();
  CampaignFlags here = options;
  if (here.campaign.state.empty() && here.campaign.pipeline.empty()) {
    here.campaign.state = ".evolve";
  }
  TRY_ASSIGN(auto place, find_campaign(here.campaign));
  std::error_code error;
  if (!fs::exists(path, error)) return bad_input(fmt::format("{}: no such bundle", request.path));
  TRY(world::check_seal(path, kBundleFormat));
  std::string warning;
  TRY_ASSIGN(auto state, open_state(place.state, Sharing::names, warning));
  if (!warning.empty()) options.warn(warning);
  auto bundle =
      read_bundle(path, state->files, fmt::format("{}/import.{}", state->folder, ::getpid()));
  if (!bundle) return std::move(bundle).error();
  const std::string campaign = request.as.empty() ? bundle->campaign : request.as;
  TRY_ASSIGN(auto is_taken, is_another(state->ledger->rounds(), campaign, bundle->rounds));
  if (is_taken) {
    return bad_input(
        fmt::format("{}: a different campaign is already named '{}'", request.path, campaign), "",
        "import under another name: evolve import --as NAME");
  }
  TRY_ASSIGN(auto other, other_selection(state->ledger->rounds(), campaign, bundle->rounds));
  if (other > 0) {
    return bad_input(fmt::format("{}: round-{} of '{}' is already recorded with another selection",
                                 request.path, other, campaign),
                     "", "use another --state FOLDER, or evolve import --as NAME");
  }
  TRY(store(*bundle, campaign, *state));
  const int round = bundle->rounds.back().number;
  return Answer{{{"campaign", campaign},
                 {"round", round},
                 {"blobs", bundle->blobs.size()},
                 {"state", state->folder}},
                fmt::format("round-{} of {}: all digests match; {} blobs are in {}\n", round,
                            campaign, bundle->blobs.size(), state->folder)};
}

}  // namespace evolve
