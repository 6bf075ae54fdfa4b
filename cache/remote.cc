#include "cache/remote.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "cache/record_message.h"
#include "engine/core/crypto/content.h"
#include "engine/core/crypto/sha256.h"

namespace evolve::cache {

namespace {

// The number of keys that are requested together: first their entries, which are kept in memory,
// and then their blobs.
constexpr size_t kAtOnce = 128;

constexpr int kOk = 200;

}  // namespace

bool is_of_files(const ActionResult& result) {
  const auto& outputs = result.outputs;
  return result.has_all_outputs() &&
         std::find(outputs.begin(), outputs.end(), folder_digest()) == outputs.end();
}

std::optional<LookedAt> look_at_file(const std::string& path) {
  struct stat st = {};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                       std::fclose);
  if (!file || ::fstat(::fileno(file.get()), &st) != 0) return std::nullopt;
  Sha256 sha;
  std::array<char, 1 << 16> chunk{};
  int64_t bytes = 0;
  while (const size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    sha.add({chunk.data(), size});
    bytes += static_cast<int64_t>(size);
  }
  if (std::ferror(file.get()) != 0) return std::nullopt;
  const std::string hex = sha.hex();
  return LookedAt{{hex, bytes, (st.st_mode & S_IXUSR) != 0}, content_digest_from(hex)};
}

std::string fault_text(const HttpRequest& request, const HttpResponse& response) {
  return fmt::format(
      "{} {}: {}", method_name(request.method), request.url,
      response.status == 0 ? response.fault : fmt::format("HTTP status {}", response.status));
}

void RemoteCache::refuse(const std::string& what) {
  if (counts_.refused++ == 0) counts_.refusal = what;
}

std::optional<std::string> RemoteCache::body_of(const HttpRequest& request,
                                                HttpResponse& response) {
  if (response.status == kOk && response.is_too_long) {
    refuse(fmt::format("{}: is larger than {} bytes", request.url, request.most_bytes));
    return std::nullopt;
  }
  if (response.status == kOk) return std::move(response.body);
  if (!is_absent(response.status) && counts_.fault.empty()) {
    counts_.fault = fault_text(request, response);
  }
  return std::nullopt;
}

RemoteCache::Entries RemoteCache::entries_of(std::span<const Digest> keys) {
  std::vector<HttpRequest> requests;
  requests.reserve(keys.size());
  for (const Digest& key : keys) {
    requests.push_back(address_.get(RemoteAddress::entry(key), kMostEntryBytes));
  }
  auto responses = http_.perform(requests);
  Entries out;
  for (size_t i = 0; i < keys.size(); ++i) {
    auto body = body_of(requests[i], responses[i]);
    if (!body) continue;
    std::string why;
    auto entry = decode_entry(keys[i], *body, why);
    if (entry) {
      out.emplace(keys[i], *std::move(entry));
    } else {
      refuse(fmt::format("{}: {}", requests[i].url, why));
    }
  }
  return out;
}

Result<std::vector<RemoteCache::Wanted>> RemoteCache::missing(const Entries& entries) {
  std::vector<Wanted> out;
  std::unordered_set<Digest> seen;
  for (const auto& [key, entry] : entries) {
    if (!entry.result || !is_of_files(*entry.result)) continue;
    for (size_t i = 0; i < entry.files.size(); ++i) {
      const Digest& digest = entry.result->outputs[i];
      if (!seen.insert(digest).second) continue;
      TRY_ASSIGN(auto is_here, blobs_.contains(digest));
      if (!is_here && entry.files[i].bytes <= kMostRemoteBytes) {
        out.push_back({digest, entry.files[i]});
      }
    }
  }
  return out;
}

Status RemoteCache::take(const std::vector<Wanted>& blobs) {
  if (blobs.empty()) return {};
  TRY(files_.make_folders(folder_));
  std::vector<HttpRequest> requests;
  requests.reserve(blobs.size());
  for (const Wanted& blob : blobs) {
    requests.push_back(address_.get(RemoteAddress::file(blob.file.sha256), blob.file.bytes,
                                    fmt::format("{}/{}.{}", folder_, ::getpid(), files_taken_++)));
  }
  auto responses = http_.perform(requests);
  for (size_t i = 0; i < blobs.size(); ++i) {
    const std::string& path = requests[i].file;
    Status taken;
    if (responses[i].status == kOk && responses[i].is_too_long)
      damaged_.insert(blobs[i].file.sha256);
    if (body_of(requests[i], responses[i])) taken = take(blobs[i], requests[i].url, path);
    TRY(files_.remove(path));
    if (!taken) return taken;
  }
  return {};
}

Status RemoteCache::take(const Wanted& blob, const std::string& url, const std::string& path) {
  const auto found = look_at_file(path);
  const bool is_it = found && found->file.bytes == blob.file.bytes &&
                     found->file.sha256 == blob.file.sha256 && found->digest == blob.digest;
  if (!is_it) {
    refuse(url + ": does not match its digest");
    damaged_.insert(blob.file.sha256);
    return {};
  }
  counts_.bytes += blob.file.bytes;
  if (blob.file.is_executable) (void)::chmod(path.c_str(), S_IRWXU);
  return blobs_.put_file(path, blob.digest);
}

Status RemoteCache::foresee(std::span<const Digest> keys) {
  std::vector<Digest> unknown;
  for (const Digest& key : keys) {
    if (known_.try_emplace(key).second) unknown.push_back(key);
  }
  for (size_t i = 0; i < unknown.size(); i += kAtOnce) {
    const size_t count = std::min(kAtOnce, unknown.size() - i);
    TRY(ask(std::span(unknown).subspan(i, count)));
  }
  return {};
}

Status RemoteCache::ask(std::span<const Digest> keys) {
  if (!counts_.fault.empty()) return {};
  auto entries = entries_of(keys);
  TRY_ASSIGN(auto blobs, missing(entries));
  TRY(take(blobs));
  for (const Digest& key : keys) {
    auto entry = entries.find(key);
    if (entry == entries.end()) {
      ++counts_.missed;
      continue;
    }
    Known& known = known_.at(key);
    known.discovered = std::move(entry->second.discovered);
    if (!entry->second.result) continue;
    TRY_ASSIGN(auto lost, lost_blobs(*entry->second.result, blobs_));
    if (lost.empty() && is_of_files(*entry->second.result)) {
      known.result = std::move(entry->second.result);
    } else {
      ++counts_.missed;
    }
  }
  return {};
}

Result<std::optional<ActionResult>> RemoteCache::find(const Digest& key) {
  TRY(foresee({&key, 1}));
  const auto& result = known_.at(key).result;
  if (result) ++counts_.taken;
  return result;
}

Result<std::vector<std::string>> RemoteCache::discovered(const Digest& declared_key) {
  TRY(foresee({&declared_key, 1}));
  return known_.at(declared_key).discovered;
}

}  // namespace evolve::cache
