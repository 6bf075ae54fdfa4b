// A remote cache: action results and blobs on a web server, by Bazel's protocol over HTTP (`/ac/`,
// `/cas/`), which nginx with WebDAV and bazel-remote both serve. A blob counts when its size, its
// SHA-256 and its digest are those of its name, a result when all its blobs are here; that an
// action gave those blobs is taken on the server's word. A server that fails is not asked again.
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

// More than any blob of ours has.
constexpr int64_t kMostRemoteBytes = int64_t{2} << 30;

// A result can be had elsewhere where each of its outputs is a file that is there.
bool is_of_files(const ActionResult& result);

struct LookedAt {
  StoredFile file;
  Digest digest;
};
// Of the bytes of a file; nullopt: it cannot be read.
std::optional<LookedAt> look_at_file(const std::string& path);
// "GET http://…: HTTP status 500".
std::string fault_text(const HttpRequest& request, const HttpResponse& response);

struct DownloadCounts {
  int64_t taken = 0;    // results
  int64_t missed = 0;   // keys that were asked for without finding a result
  int64_t refused = 0;  // entries and blobs that were not what they should be
  int64_t bytes = 0;    // of blobs
  std::string refusal;  // what the first refused was, and why; empty: none
  std::string fault;    // why the server was not asked to the end; empty: it was
};

class RemoteCache {
 public:
  // `http`, `blobs` and `files` must outlive this. Blobs come to files in `folder` first, which is
  // made.
  RemoteCache(Http& http, FolderBlobStore& blobs, Files& files, std::string folder,
              RemoteAddress address)
      : http_(http),
        blobs_(blobs),
        files_(files),
        folder_(std::move(folder)),
        address_(std::move(address)) {}

  // Asks for all these at once, so that find() and discovered() need not.
  Status foresee(std::span<const Digest> keys);
  // A result, all of whose blobs are in the store now.
  Result<std::optional<ActionResult>> find(const Digest& key);
  Result<std::vector<std::string>> discovered(const Digest& declared_key);
  [[nodiscard]] const DownloadCounts& counts() const { return counts_; }
  // Blobs that the server has, by SHA-256, which are not what their names say.
  [[nodiscard]] const std::unordered_set<std::string>& damaged() const { return damaged_; }

 private:
  struct Known {
    std::optional<ActionResult> result;
    std::vector<std::string> discovered;
  };
  using Entries = std::unordered_map<Digest, RemoteEntry>;
  // A blob that an entry names, and the store lacks.
  struct Wanted {
    Digest digest;
    StoredFile file;
  };

  Status ask(std::span<const Digest> keys);
  void refuse(const std::string& what);
  // Nullopt: the answer says that it is not there, or the server fails.
  std::optional<std::string> body_of(const HttpRequest& request, HttpResponse& response);
  // Those that have an entry, whose blobs are not here yet.
  Entries entries_of(std::span<const Digest> keys);
  Result<std::vector<Wanted>> missing(const Entries& entries);
  Status take(const std::vector<Wanted>& blobs);
  // Puts a file that came for a blob into the store, where it is that.
  Status take(const Wanted& blob, const std::string& url, const std::string& path);

  Http& http_;
  FolderBlobStore& blobs_;
  Files& files_;
  std::string folder_;
  RemoteAddress address_;
  std::unordered_map<Digest, Known> known_;  // what was asked for
  std::unordered_set<std::string> damaged_;
  DownloadCounts counts_;
  int64_t files_taken_ = 0;
};

}  // namespace evolve::cache
