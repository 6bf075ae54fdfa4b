#include "cache/remote_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/action_table.h"
#include "cache/record_message.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/plain_text.h"

namespace evolve::cache {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "evolve-entry-1";
// Limits for the number of paths and for the bytes of a text. Real results stay below both.
constexpr size_t kMostPaths = 10'000;
constexpr size_t kMostPath = 4096;

bool is_plain(const std::string& text) {
  return text.size() <= kMostPath && is_plain_line(text);
}

bool are_paths(const std::vector<std::string>& paths) {
  return paths.size() <= kMostPaths &&
         std::all_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return !path.empty() && is_plain(path); });
}

// Returns whether the texts of a result can be shown in a terminal.
bool is_sound(const ActionResult& result) {
  std::vector<std::string> targets;
  for (const OutputLink& link : result.links) targets.push_back(link.target);
  return are_paths(result.discovered) && are_paths(targets) && is_plain(result.verdict) &&
         is_plain(result.paid_by) && is_plain(result.built_at) && is_plain(result.built_on);
}

}  // namespace

std::string entry_name(const Digest& key) {
  return sha256(fmt::format("{} {}", kFormat, key.hex()));
}

std::string encode_entry(const Digest& key, const RemoteEntry& entry) {
  json record = {{"format", kFormat}, {"key", key.hex()}};
  if (entry.result) {
    record["result"] = json_or_null(encode_result(*entry.result));
  } else {
    record["discovered"] = entry.discovered;
  }
  return encode_record({entry.files, json_line(record)});
}

std::optional<RemoteEntry> decode_entry(const Digest& key, const std::string& bytes,
                                        std::string& why) {
  why = "is not an entry of this cache";
  auto message = decode_record(bytes);
  if (!message) return std::nullopt;
  RemoteEntry out;
  out.files = std::move(message->files);
  const json record = json_or_null(message->text);
  if (!record.is_object() || record.value("format", json()) != kFormat) return std::nullopt;
  if (record.value("key", json()) != key.hex()) {
    why = "is the entry of a different key";
    return std::nullopt;
  }
  const json result = record.value("result", json());
  if (result.is_object()) {
    out.result = decode_result(key, json_line(result));
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
