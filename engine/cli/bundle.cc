#include "engine/cli/bundle.h"

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
#include "engine/cli/past.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/cli/state.h"
#include "engine/world/archive.h"
#include "engine/world/seal.h"
#include "engine/core/sha256.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "evolve-bundle-1";
constexpr const char* kIndex = "index.json";
constexpr const char* kRecords = "records.json";
constexpr const char* kResults = "results.json";
constexpr std::string_view kBlobs = "blobs/";
// More than any campaign has come to: what says more is not taken.
constexpr world::ArchiveLimits kLimits = {size_t{2} << 30, size_t{16} << 30};

// What the index says of a file.
struct Listed {
  uint64_t size = 0;
  std::string sha256;
  bool is_executable = false;
};

// The blobs that a record needs.
std::set<std::string> blobs_of(const Record& record) {
  std::set<std::string> out;
  for (const RecordedFile& file : files_of(record)) {
    if (file.content != folder_digest()) out.insert(file.content.hex());
  }
  return out;
}

// Gives the files of a bundle: an index, which is known when all others were read, and them.
class Exporter {
 public:
  Exporter(Past& past, const PastRound& round) : past_(past), round_(round) {}

  Status write(const std::string& path) {
    if (auto status = describe(); !status) return status;
    size_t next = 0;
    auto status = world::write_archive(path, [&]() -> Result<std::optional<world::ArchivedFile>> {
      if (next == names_.size()) return std::optional<world::ArchivedFile>{};
      auto file = load(names_[next++]);
      if (!file) return std::move(file).error();
      return std::optional(*std::move(file));
    });
    return status ? world::seal(path, kFormat) : status;
  }
  [[nodiscard]] size_t files() const { return names_.size(); }

 private:
  Status describe() {
    auto& ledger = *past_.state->ledger;
    auto rounds = ledger.rounds(round_.stored.campaign);
    if (!rounds) return std::move(rounds).error();
    json records = json::array();
    for (const cache::StoredRecord& stored : round_.chain) {
      json selection;
      for (const cache::RoundRecord& round : *rounds) {
        if (round.number == stored.round) selection = round.selection;
      }
      records.push_back({{"round", stored.round},
                         {"recorded", stored.recorded},
                         {"text", stored.text},
                         {"selection", selection}});
    }
    texts_[kRecords] = records.dump() + "\n";
    json results = json::array();
    for (const RecordedStep& step : round_.record.steps) {
      auto result = ledger.recall_any(step.key);
      if (!result) return std::move(result).error();
      if (*result) results.push_back({step.key.hex(), cache::encode_result(**result)});
    }
    texts_[kResults] = results.dump() + "\n";
    names_ = {kIndex, kRecords, kResults};
    for (const std::string& blob : blobs_of(round_.record)) {
      names_.push_back(std::string(kBlobs) + blob);
    }
    json files = json::object();
    for (const std::string& name : names_) {
      if (name == kIndex) continue;
      auto file = load(name);
      if (!file) return std::move(file).error();
      files[name] = {{"size", file->bytes.size()},
                     {"sha256", sha256(file->bytes)},
                     {"executable", file->is_executable}};
    }
    const json index = {{"format", kFormat},
                        {"campaign", round_.stored.campaign},
                        {"round", round_.stored.round},
                        {"engine", EVOLVE_VERSION},
                        {"toolchain", round_.record.toolchain},
                        {"files", files}};
    texts_[kIndex] = index.dump(1) + "\n";
    return {};
  }

  Result<world::ArchivedFile> load(const std::string& name) {
    if (auto text = texts_.find(name); text != texts_.end()) {
      return world::ArchivedFile{name, text->second, false};
    }
    const Digest digest = Digest::from_hex(name.substr(kBlobs.size())).value_or(Digest{});
    const std::string path = past_.state->blobs->path_of(digest);
    auto bytes = past_.state->files.read(path);
    if (!bytes || digest_of(*bytes) != digest) {
      Error gone = external(fmt::format("blob {} is gone, or damaged", digest.hex()));
      gone.hint = "evolve cache verify says which files of the round it was";
      return gone;
    }
    return world::ArchivedFile{name, *std::move(bytes), ::access(path.c_str(), X_OK) == 0};
  }

  Past& past_;
  const PastRound& round_;
  std::map<std::string, std::string> texts_;
  std::vector<std::string> names_;
};

// A folder that goes away.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Reads a bundle as one reads a stranger's letter.
class Importer {
 public:
  Importer(std::string path, State& state)
      : path_(std::move(path)),
        state_(state),
        scratch_(fmt::format("{}/import.{}", state.folder, ::getpid())) {}

  // Nothing is stored yet when this returns. REQUIRES: the seal holds.
  Status read() {
    if (auto status = state_.files.make_folders(scratch_.path()); !status) return status;
    auto status = world::read_archive(path_, kLimits, [&](world::ArchivedFile file) {
      return files_ == 0 ? read_index(file) : take(std::move(file));
    });
    if (!status) return Error(status.error());
    if (files_ != listed_.size() + 1) return wrong("not all files are there that it lists");
    if (auto records = read_records(); !records) return records;
    return read_results();
  }

  Status store(const std::string& campaign) {
    for (const std::string& blob : blobs_) {
      const Digest digest = Digest::from_hex(blob).value_or(Digest{});
      auto status = state_.blobs->put_file(scratch_.path() + "/" + blob, digest);
      if (!status) return status;
    }
    for (const ActionResult& result : results_) {
      if (auto status = state_.ledger->add_imported(result); !status) return status;
    }
    int64_t before = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      cache::StoredRecord record = records_[i];
      record.campaign = campaign;
      record.before = before;
      auto id = state_.ledger->add_record(record);
      if (!id) return std::move(id).error();
      before = *id;
      if (selections_[i].empty()) continue;
      auto status =
          state_.ledger->record_round(campaign, {record.round, record.recorded, selections_[i]});
      if (!status) return status;
    }
    return {};
  }

  [[nodiscard]] const std::string& campaign() const { return campaign_; }
  [[nodiscard]] const std::vector<cache::StoredRecord>& records() const { return records_; }
  [[nodiscard]] size_t blobs() const { return blobs_.size(); }

 private:
  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input(fmt::format("{}: {}", path_, what), "", "nothing of it was taken over");
  }

  Status read_index(const world::ArchivedFile& file) {
    ++files_;
    const json index = json::parse(file.bytes, nullptr, false);
    auto text = [&](const char* name) {
      return index.is_object() && index.contains(name) && index[name].is_string()
                 ? index[name].get<std::string>()
                 : std::string();
    };
    const bool is_index = file.name == kIndex && text("format") == kFormat &&
                          index.contains("files") && index["files"].is_object();
    campaign_ = text("campaign");
    if (!is_index || campaign_.empty() || campaign_.find('/') != std::string::npos) {
      return wrong(fmt::format("its first file is no {} of {}", kIndex, kFormat));
    }
    for (const auto& [name, its] : index["files"].items()) {
      const bool is_whole = its.is_object() && its.contains("size") &&
                            its["size"].is_number_unsigned() && its.contains("sha256") &&
                            its["sha256"].is_string() && its.contains("executable") &&
                            its["executable"].is_boolean();
      if (!is_whole) return wrong(fmt::format("{}: what it says of '{}'", kIndex, name));
      listed_[name] = {its["size"].get<uint64_t>(), its["sha256"].get<std::string>(),
                       its["executable"].get<bool>()};
    }
    return {};
  }

  Status take(world::ArchivedFile file) {
    ++files_;
    auto listed = listed_.find(file.name);
    if (listed == listed_.end()) return wrong(fmt::format("'{}' is not listed", file.name));
    if (!taken_.insert(file.name).second) {
      return wrong(fmt::format("'{}' is there twice", file.name));
    }
    const Listed& its = listed->second;
    const bool is_listed = its.size == file.bytes.size() &&
                           its.sha256 == sha256(file.bytes) &&
                           its.is_executable == file.is_executable;
    if (!is_listed) return wrong(fmt::format("'{}' is not what the index says", file.name));
    if (file.name == kRecords || file.name == kResults) {
      texts_[file.name] = std::move(file.bytes);
      return {};
    }
    const bool is_blob = file.name.starts_with(kBlobs);
    const std::string name = is_blob ? file.name.substr(kBlobs.size()) : "";
    const auto digest = Digest::from_hex(name);
    if (!digest || digest->hex() != name || digest_of(file.bytes) != *digest) {
      return wrong(fmt::format("'{}' is no blob's name, or not that blob's", file.name));
    }
    const std::string at = scratch_.path() + "/" + name;
    if (auto status = state_.files.write(at, file.bytes); !status) return status;
    std::error_code error;
    if (file.is_executable) {
      fs::permissions(at, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    }
    blobs_.insert(name);
    return error ? Status(world::system_error("chmod", at, error.value())) : Status{};
  }

  Status read_records() {
    const json records = json::parse(texts_[kRecords], nullptr, false);
    if (!records.is_array() || records.empty()) return wrong("its records cannot be read");
    Record whole;
    for (const json& one : records) {
      const bool is_whole = one.is_object() && one.value("text", json()).is_string() &&
                            one.value("recorded", json()).is_string() &&
                            one.value("round", json()) == json(records_.size());
      if (!is_whole) return wrong("its records cannot be read");
      cache::StoredRecord stored;
      stored.round = static_cast<int>(records_.size());
      stored.recorded = one["recorded"].get<std::string>();
      stored.text = one["text"].get<std::string>();
      auto record = decode_record(stored.text);
      if (!record) return wrong(fmt::format("round {}: {}", stored.round, record.error().message));
      add_to(whole, *record);
      records_.push_back(std::move(stored));
      const json selection = one.value("selection", json());
      selections_.push_back(selection.is_string() ? selection.get<std::string>() : "");
    }
    for (const std::string& blob : blobs_of(whole)) {
      if (!blobs_.contains(blob)) return wrong(fmt::format("blob {} is not there", blob));
    }
    for (const RecordedStep& step : whole.steps) keys_.insert(step.key.hex());
    return {};
  }

  Status read_results() {
    const json results = json::parse(texts_[kResults], nullptr, false);
    if (!results.is_array()) return wrong("its results cannot be read");
    for (const json& one : results) {
      const bool is_pair =
          one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string();
      const auto key = is_pair ? Digest::from_hex(one[0].get<std::string>()) : std::nullopt;
      auto result = key ? cache::decode_result(*key, one[1].get<std::string>()) : std::nullopt;
      if (!result || !keys_.contains(key->hex())) return wrong("its results cannot be read");
      results_.push_back(*std::move(result));
    }
    return {};
  }

  std::string path_;
  State& state_;
  Scratch scratch_;
  size_t files_ = 0;
  std::string campaign_;
  std::map<std::string, Listed> listed_;
  std::set<std::string> taken_, blobs_, keys_;
  std::map<std::string, std::string> texts_;
  std::vector<cache::StoredRecord> records_;
  std::vector<std::string> selections_;
  std::vector<ActionResult> results_;
};

// Whether a campaign of that name is there and has other records.
Result<bool> is_another(cache::SqliteLedger& ledger, const std::string& campaign,
                        const std::vector<cache::StoredRecord>& records) {
  for (const cache::StoredRecord& record : records) {
    auto last = ledger.last_record(campaign, record.round);
    if (!last) return std::move(last).error();
    if (*last && (*last)->text != record.text) return true;
  }
  return false;
}

}  // namespace

Status run_export(const CommonOptions& common, const BundleCommand& command) {
  auto past = open_past(common);
  if (!past) return std::move(past).error();
  auto round = past->load(command.round, command.record);
  if (!round) return std::move(round).error();
  const std::string out = fs::absolute(command.path).lexically_normal().string();
  const std::string unnamed = fmt::format("{}.tmp{}", out, ::getpid());
  Exporter exporter(*past, *round);
  std::error_code error;
  if (auto status = exporter.write(unnamed); !status) {
    fs::remove(unnamed, error);
    return status;
  }
  const auto size = fs::file_size(unnamed, error);
  fs::rename(unnamed, out, error);
  if (error) return world::system_error("rename", out, error.value());
  print_result(common,
               {{"campaign", round->stored.campaign},
                {"round", round->stored.round},
                {"record", round->stored.id},
                {"files", exporter.files()},
                {"bytes", size},
                {"bundle", out}},
               fmt::format("{}, record {}: {} steps, {} files, {:.1f} MB in {}\n", round->name(),
                           round->stored.id, round->record.steps.size(), exporter.files(),
                           static_cast<double>(size) / 1e6, command.path));
  return {};
}

Status run_import(const CommonOptions& common, const BundleCommand& command) {
  const std::string path = fs::absolute(command.path).lexically_normal().string();
  CommonOptions here = common;
  if (here.campaign.state.empty() && here.campaign.pipeline.empty()) {
    here.campaign.state = ".evolve";
  }
  auto place = find_campaign(here.campaign);
  if (!place) return std::move(place).error();
  std::error_code error;
  if (!fs::exists(path, error)) return bad_input(fmt::format("{}: no such bundle", command.path));
  if (auto status = world::check_seal(path, kFormat); !status) return status;
  std::string warning;
  auto state = open_state(place->state, Sharing::names, warning);
  if (!state) return std::move(state).error();
  if (!warning.empty()) print_warning(warning, common.color);
  Importer importer(path, **state);
  if (auto status = importer.read(); !status) return status;
  const std::string campaign = command.as.empty() ? importer.campaign() : command.as;
  auto is_taken = is_another(*(*state)->ledger, campaign, importer.records());
  if (!is_taken) return std::move(is_taken).error();
  if (*is_taken) {
    return bad_input(
        fmt::format("{}: a campaign '{}' is here, and is another", command.path, campaign), "",
        "evolve import --as NAME");
  }
  if (auto status = importer.store(campaign); !status) return status;
  const int round = importer.records().back().round;
  print_result(common,
               {{"campaign", campaign},
                {"round", round},
                {"blobs", importer.blobs()},
                {"state", (*state)->folder}},
               fmt::format("round-{} of {}: every digest holds; {} blobs are in {}\n", round,
                           campaign, importer.blobs(), (*state)->folder));
  return {};
}

}  // namespace evolve::cli
