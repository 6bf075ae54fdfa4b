// A remote cache: action results and blobs on a web server, by Bazel's protocol over HTTP (`/ac/`,
// `/cas/`), which nginx with WebDAV and bazel-remote both serve. A blob counts if its size, SHA-256
// and digest are those in the entry; a result counts if all its blobs are here. Nothing checks that
// the action made these blobs: the server is trusted. A server that fails is not asked again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/blob_store.h"
#include "cache/remote_address.h"
#include "cache/remote_entry.h"
#include "engine/core/http.h"
#include "engine/core/ports.h"

namespace evolve::cache {

// Limit for the size of a blob, in bytes. Real blobs are smaller.
constexpr int64_t kMostRemoteBytes = int64_t{2} << 30;

// Returns whether a result can be shared: each of its outputs must be a file that was written.
bool is_of_files(const ActionResult& result);

struct LookedAt {
  StoredFile file;
  Digest digest;
};
// Reads a file's size, SHA-256, digest and whether it is executable. Nullopt: it cannot be read.
std::optional<LookedAt> look_at_file(const std::string& path);
// Returns the words for a failed request, such as "GET http://…: HTTP status 500".
std::string fault_text(const HttpRequest& request, const HttpResponse& response);

struct DownloadCounts {
  int64_t taken = 0;    // results
  int64_t missed = 0;   // requested keys without a result
  int64_t refused = 0;  // invalid entries and blobs
  int64_t bytes = 0;    // of blobs
  std::string refusal;  // the first refused entry or blob, and why; empty: none
  std::string fault;    // why the server is not asked any more; empty: it is
};

class RemoteCache {
 public:
  // `http`, `blobs` and `files` must outlive this. Blobs are downloaded into `folder` first, which
  // is created.
  RemoteCache(Http& http, FolderBlobStore& blobs, Files& files, std::string folder,
              RemoteAddress address)
      : http_(http),
        blobs_(blobs),
        files_(files),
        folder_(std::move(folder)),
        address_(std::move(address)) {}

  // Requests all these keys at once, so that find() and discovered() need no requests for them.
  Status foresee(std::span<const Digest> keys);
  // Returns a result whose blobs are all in the blob store now. Nullopt: there is no such result.
  Result<std::optional<ActionResult>> find(const Digest& key);
  Result<std::vector<std::string>> discovered(const Digest& declared_key);
  [[nodiscard]] const DownloadCounts& counts() const { return counts_; }
  // Blobs on the server that do not match their names, by SHA-256.
  [[nodiscard]] const std::unordered_set<std::string>& damaged() const { return damaged_; }

 private:
  struct Known {
    std::optional<ActionResult> result;
    std::vector<std::string> discovered;
  };
  using Entries = std::unordered_map<Digest, RemoteEntry>;
  // A blob that an entry names and that the blob store lacks.
  struct Wanted {
    Digest digest;
    StoredFile file;
  };

  Status ask(std::span<const Digest> keys);
  void refuse(const std::string& what);
  // Returns the body of a successful answer. Nullopt: there is no body, the body is too long, or
  // the server fails.
  std::optional<std::string> body_of(const HttpRequest& request, HttpResponse& response);
  // Returns the entries of the keys that have one. Their blobs may not be here yet.
  Entries entries_of(std::span<const Digest> keys);
  Result<std::vector<Wanted>> missing(const Entries& entries);
  Status take(const std::vector<Wanted>& blobs);
  // Puts a downloaded file into the blob store if it is the wanted blob; refuses it otherwise.
  Status take(const Wanted& blob, const std::string& url, const std::string& path);

  Http& http_;
  FolderBlobStore& blobs_;
  Files& files_;
  std::string folder_;
  RemoteAddress address_;
  std::unordered_map<Digest, Known> known_;  // all keys that were asked for
  std::unordered_set<std::string> damaged_;
  DownloadCounts counts_;
  int64_t files_taken_ = 0;
};

}  // namespace evolve::cache
