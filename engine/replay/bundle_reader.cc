#include "engine/replay/bundle_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/action_table.h"
#include "engine/core/crypto/content.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/selection/selection_record.h"
#include "engine/world/archive.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The most bytes of one file, and of all files. No campaign has come near these limits, so larger
// bundle files are rejected.
constexpr world::ArchiveLimits kLimits = {size_t{2} << 30, size_t{16} << 30};

// A file as the index describes it.
struct Listed {
  uint64_t size = 0;
  std::string sha256;
  bool is_executable = false;
};

class Reader {
 public:
  Reader(std::string path, Files& disk, const std::string& scratch)
      : path_(std::move(path)), disk_(disk) {
    bundle_.scratch = std::make_unique<Scratch>(scratch);
  }

  Result<BundleFile> read() {
    TRY(disk_.make_folders(bundle_.scratch->path()));
    auto status = world::read_archive(path_, kLimits, [&](world::ArchivedFile file) {
      return files_ == 0 ? read_index(file) : take(std::move(file));
    });
    if (!status) return std::move(status).error();
    if (files_ != listed_.size() + 1) return wrong("some listed files are missing");
    TRY(read_records());
    TRY(read_results());
    return std::move(bundle_);
  }

 private:
  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input(fmt::format("{}: {}", path_, what), "", "nothing was imported");
  }

  Status read_index(const world::ArchivedFile& file) {
    ++files_;
    const json index = json_or_null(file.bytes);
    auto text = [&](const char* name) {
      return index.is_object() && index.contains(name) && index[name].is_string()
                 ? index[name].get<std::string>()
                 : std::string();
    };
    const bool is_index = file.name == kBundleIndex && text("format") == kBundleFormat &&
                          index.contains("files") && index["files"].is_object();
    bundle_.campaign = text("campaign");
    if (!is_index || !is_campaign_name(bundle_.campaign)) {
      return wrong(fmt::format("the first file is not the {} of {}", kBundleIndex, kBundleFormat));
    }
    for (const auto& [name, its] : index["files"].items()) {
      const bool is_whole = its.is_object() && its.contains("size") &&
                            its["size"].is_number_unsigned() && its.contains("sha256") &&
                            its["sha256"].is_string() && its.contains("executable") &&
                            its["executable"].is_boolean();
      if (!is_whole)
        return wrong(fmt::format("{}: the entry of '{}' is invalid", kBundleIndex, name));
      listed_[name] = {its["size"].get<uint64_t>(), its["sha256"].get<std::string>(),
                       its["executable"].get<bool>()};
    }
    return {};
  }

  Status take(world::ArchivedFile file) {
    ++files_;
    auto listed = listed_.find(file.name);
    if (listed == listed_.end()) return wrong(fmt::format("'{}' is not in the index", file.name));
    if (!taken_.insert(file.name).second) {
      return wrong(fmt::format("'{}' appears twice", file.name));
    }
    const Listed& its = listed->second;
    const bool is_listed = its.size == file.bytes.size() && its.sha256 == sha256(file.bytes) &&
                           its.is_executable == file.is_executable;
    if (!is_listed) return wrong(fmt::format("'{}' does not match the index", file.name));
    if (file.name == kBundleRecords || file.name == kBundleResults) {
      texts_[file.name] = std::move(file.bytes);
      return {};
    }
    const bool is_blob = file.name.starts_with(kBundleBlobs);
    const std::string name = is_blob ? file.name.substr(kBundleBlobs.size()) : "";
    const auto digest = Digest::from_hex(name);
    if (!digest || digest->hex() != name || content_digest(file.bytes) != *digest) {
      return wrong(fmt::format("'{}' is not a blob with this digest", file.name));
    }
    const std::string at = bundle_.scratch->path() + "/" + name;
    TRY(disk_.write(at, file.bytes));
    std::error_code error;
    if (file.is_executable) {
      fs::permissions(at, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    }
    bundle_.blobs.insert(name);
    return error ? Status(world::system_error("chmod", at, error.value())) : Status{};
  }

  // Checks the text of a selection; null: the round has no selection.
  static Status check_selection(const json& text) {
    if (!text.is_string()) return {};
    auto selection = parse_outside(text.get_ref<const std::string&>());
    if (!selection) return std::move(selection).error().within("selection");
    return search::check_selection_form(*selection);
  }

  // Checks that a round's selection is the selection that the round's record names.
  Status check_source(const BundledRound& round, const Record& record) {
    if (round.selection.empty()) return {};
    const std::string its = selection_path(round.number);
    for (const RecordedFile& file : files_of(record)) {
      if (file.path == its && file.content == content_digest(round.selection)) return {};
    }
    return wrong(fmt::format("round {}: the selection differs from the selection in the record",
                             round.number));
  }

  Status read_records() {
    const json records = json_or_null(texts_[kBundleRecords]);
    if (!records.is_array() || records.empty()) return wrong("the records cannot be read");
    Record whole;
    std::set<std::string> outputs;
    for (const json& one : records) {
      const bool is_whole = one.is_object() && one.value("text", json()).is_string() &&
                            one.value("recorded", json()).is_string() &&
                            one.value("round", json()) == json(bundle_.rounds.size());
      if (!is_whole) return wrong("the records cannot be read");
      const json selection = one.value("selection", json());
      if (auto status = check_selection(selection); !status) {
        return wrong(fmt::format("round {}: {}", bundle_.rounds.size(), status.error().message));
      }
      if (!is_plain_line(one["recorded"].get_ref<const std::string&>())) {
        return wrong("the records cannot be read");
      }
      BundledRound round;
      round.number = static_cast<int>(bundle_.rounds.size());
      round.recorded = one["recorded"].get<std::string>();
      round.record = one["text"].get<std::string>();
      round.selection = selection.is_string() ? selection.get<std::string>() : "";
      auto record = decode_record(round.record);
      if (!record) return wrong(fmt::format("round {}: {}", round.number, record.error().message));
      TRY(check_source(round, *record));
      for (const RecordedStep& step : record->steps) {
        if (!outputs.insert(step.outputs.front().path).second)
          return wrong(fmt::format("round {}: a step appears twice in the record", round.number));
      }
      add_to(whole, *record);
      bundle_.rounds.push_back(std::move(round));
    }
    for (const std::string& blob : blobs_of(whole)) {
      if (!bundle_.blobs.contains(blob)) return wrong(fmt::format("blob {} is missing", blob));
    }
    for (const RecordedStep& step : whole.steps) keys_.insert(step.key.hex());
    return {};
  }

  Status read_results() {
    const json results = json_or_null(texts_[kBundleResults]);
    if (!results.is_array()) return wrong("the results cannot be read");
    for (const json& one : results) {
      const bool is_pair =
          one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string();
      const auto key = is_pair ? Digest::from_hex(one[0].get<std::string>()) : std::nullopt;
      const bool is_shallow =
          is_pair && json_or_null(one[1].get_ref<const std::string&>()).is_object();
      auto result =
          key && is_shallow ? cache::decode_result(*key, one[1].get<std::string>()) : std::nullopt;
      if (!result || !keys_.contains(key->hex())) return wrong("the results cannot be read");
      bundle_.results.push_back(*std::move(result));
    }
    return {};
  }

  std::string path_;
  Files& disk_;
  BundleFile bundle_;
  size_t files_ = 0;
  std::map<std::string, Listed> listed_;
  std::set<std::string> taken_, keys_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

Scratch::~Scratch() {
  std::error_code error;
  fs::remove_all(path_, error);
}

bool is_campaign_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && is_plain_line(name) &&
         name.find('/') == std::string::npos;
}

std::string selection_path(int round) {
  return fmt::format("$work/round-{}/selection.json", round);
}

std::set<std::string> blobs_of(const Record& record) {
  std::set<std::string> out;
  for (const RecordedFile& file : files_of(record)) {
    if (file.content != folder_digest()) out.insert(file.content.hex());
  }
  return out;
}

Result<BundleFile> read_bundle(const std::string& path, Files& files, const std::string& scratch) {
  return Reader(path, files, scratch).read();
}

}  // namespace evolve
