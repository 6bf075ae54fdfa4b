#include "cache/remote_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "cache/action_table.h"
#include "engine/core/sha256.h"
#include "engine/core/shallow_json.h"

namespace evolve::cache {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "evolve-entry-1";
// More than any real result has, and few enough that a bad one costs little.
constexpr size_t kMostFiles = 10'000;
constexpr size_t kMostPath = 4096;

// Field numbers of build.bazel.remote.execution.v2, remote_execution.proto.
namespace action_result {
constexpr protozero::pbf_tag_type kOutputFiles = 2, kStdoutRaw = 5;
}
namespace output_file {
constexpr protozero::pbf_tag_type kPath = 1, kDigest = 2, kIsExecutable = 4;
}
namespace digest {
constexpr protozero::pbf_tag_type kHash = 1, kSizeBytes = 2;
}

RemoteFile decode_file(protozero::pbf_reader message) {
  RemoteFile out;
  while (message.next()) {
    if (message.tag_and_type() ==
        protozero::tag_and_type(output_file::kDigest, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader its = message.get_message();
      while (its.next()) {
        switch (its.tag_and_type()) {
          case protozero::tag_and_type(digest::kHash, protozero::pbf_wire_type::length_delimited):
            out.sha256 = its.get_string();
            break;
          case protozero::tag_and_type(digest::kSizeBytes, protozero::pbf_wire_type::varint):
            out.bytes = its.get_int64();
            break;
          default: its.skip();
        }
      }
    } else if (message.tag_and_type() ==
               protozero::tag_and_type(output_file::kIsExecutable,
                                       protozero::pbf_wire_type::varint)) {
      out.is_executable = message.get_bool();
    } else {
      message.skip();
    }
  }
  return out;
}

// Throws protozero's exceptions where the bytes are no message.
std::pair<std::vector<RemoteFile>, std::string> decode_message(const std::string& bytes) {
  std::vector<RemoteFile> files;
  std::string text;
  protozero::pbf_reader message(bytes);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case protozero::tag_and_type(action_result::kOutputFiles,
                                   protozero::pbf_wire_type::length_delimited):
        files.push_back(decode_file(message.get_message()));
        if (files.size() > kMostFiles) return {};
        break;
      case protozero::tag_and_type(action_result::kStdoutRaw,
                                   protozero::pbf_wire_type::length_delimited):
        text = message.get_string();
        break;
      default: message.skip();
    }
  }
  return {std::move(files), std::move(text)};
}

bool are_sound(const std::vector<RemoteFile>& files) {
  return std::all_of(files.begin(), files.end(), [](const RemoteFile& file) {
    return file.bytes >= 0 && is_sha256(file.sha256);
  });
}

bool is_plain(const std::string& text) {
  return text.size() <= kMostPath && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ';
         });
}

bool are_paths(const std::vector<std::string>& paths) {
  return paths.size() <= kMostFiles &&
         std::all_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return !path.empty() && is_plain(path); });
}

// What is told of a result stands on terminals.
bool is_sound(const ActionResult& result) {
  return are_paths(result.discovered) && is_plain(result.verdict) && is_plain(result.paid_by) &&
         is_plain(result.built_at) && is_plain(result.built_on);
}

}  // namespace

std::string entry_name(const Digest& key) {
  return sha256(fmt::format("{} {}", kFormat, key.hex()));
}

std::string encode_entry(const Digest& key, const RemoteEntry& entry) {
  json record = {{"format", kFormat}, {"key", key.hex()}};
  if (entry.result) {
    record["result"] = json::parse(encode_result(*entry.result));
  } else {
    record["discovered"] = entry.discovered;
  }
  std::string bytes;
  protozero::pbf_writer message(bytes);
  for (size_t i = 0; i < entry.files.size(); ++i) {
    const RemoteFile& file = entry.files[i];
    protozero::pbf_writer its(message, action_result::kOutputFiles);
    its.add_string(output_file::kPath, fmt::format("outputs/{}", i));
    {
      protozero::pbf_writer its_digest(its, output_file::kDigest);
      its_digest.add_string(digest::kHash, file.sha256);
      // A default value is not written, as in canonical protobuf.
      if (file.bytes != 0) its_digest.add_int64(digest::kSizeBytes, file.bytes);
    }
    if (file.is_executable) its.add_bool(output_file::kIsExecutable, true);
  }
  message.add_string(action_result::kStdoutRaw,
                     record.dump(-1, ' ', false, json::error_handler_t::replace));
  return bytes;
}

std::optional<RemoteEntry> decode_entry(const Digest& key, const std::string& bytes,
                                        std::string& why) {
  why = "is no entry of ours";
  RemoteEntry out;
  std::string text;
  try {
    std::tie(out.files, text) = decode_message(bytes);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  const json record = parse_shallow(text);
  if (!record.is_object() || record.value("format", json()) != kFormat) return std::nullopt;
  if (record.value("key", json()) != key.hex()) {
    why = "is the entry of another key";
    return std::nullopt;
  }
  if (!are_sound(out.files)) return std::nullopt;
  const json result = record.value("result", json());
  if (result.is_object()) {
    out.result = decode_result(key, result.dump());
    if (!out.result || out.result->outputs.size() != out.files.size()) return std::nullopt;
    return is_sound(*out.result) ? std::optional(std::move(out)) : std::nullopt;
  }
  const json discovered = record.value("discovered", json());
  if (!discovered.is_array() || !out.files.empty()) return std::nullopt;
  for (const json& path : discovered) {
    if (!path.is_string()) return std::nullopt;
    out.discovered.push_back(path.get<std::string>());
  }
  if (!are_paths(out.discovered)) return std::nullopt;
  return out;
}

}  // namespace evolve::cache
