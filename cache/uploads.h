// Results on their way to a remote cache, in the background: first the blobs, then the entries that
// name them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "cache/remote.h"
#include "engine/core/http.h"

namespace evolve::cache {

struct UploadCounts {
  int64_t stored = 0;    // results
  int64_t unstored = 0;  // results that could not be
  int64_t bytes = 0;     // of blobs
  std::string fault;     // why none were stored from some time on; empty: they were
};

class Uploads {
 public:
  // `http` and `blobs` must outlive this.
  Uploads(Http& http, const FolderBlobStore& blobs, RemoteAddress address)
      : http_(http), blobs_(blobs), address_(std::move(address)) {}
  // What is not stored by then, is not.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // `damaged`: blobs that the server has, by SHA-256, which are not what their names say.
  void offer(const ActionResult& result, const std::unordered_set<std::string>& damaged);
  // Waits until all that was offered is stored, or cannot be.
  UploadCounts finish();

 private:
  struct Blob {
    std::string sha256;
    std::string path;
    int64_t bytes = 0;
  };

  void run();
  bool is_dropped();
  void note_fault(const HttpRequest& request, const HttpResponse& response);
  void store(const std::vector<ActionResult>& results);
  // Nullopt: a blob is gone, or too large.
  std::optional<RemoteEntry> entry_of(const ActionResult& result) const;
  // The blobs of these that the server lacks.
  std::vector<Blob> absent(const std::vector<RemoteEntry>& entries);
  void store_blobs(const std::vector<Blob>& blobs);
  // Of those whose blobs are all there; returns how many are stored.
  int64_t store_entries(const std::vector<RemoteEntry>& entries);
  // True for each that was taken.
  std::vector<bool> put(const std::vector<HttpRequest>& requests);

  Http& http_;
  const FolderBlobStore& blobs_;
  RemoteAddress address_;
  std::unordered_set<std::string> there_;  // blobs that the server has, by SHA-256

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<ActionResult> offered_;
  bool is_storing_ = false;
  bool is_ending_ = false;
  UploadCounts counts_;
  std::unordered_set<std::string> damaged_;
  std::thread thread_;
};

}  // namespace evolve::cache
