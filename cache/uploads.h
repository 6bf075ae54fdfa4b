// The upload of results to a remote cache, in the background: first the blobs, then the entries
// that name them.
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
  int64_t unstored = 0;  // results that could not be stored
  int64_t bytes = 0;     // of blobs
  std::string fault;     // why nothing more is stored; empty: storing continues
};

class Uploads {
 public:
  // `http` and `blobs` must outlive this.
  Uploads(Http& http, const FolderBlobStore& blobs, RemoteAddress address)
      : http_(http), blobs_(blobs), address_(std::move(address)) {}
  // Drops all results that are not stored yet.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  // Queues a result. `damaged`: blobs on the server that do not match their names, by SHA-256.
  void offer(const ActionResult& result, const std::unordered_set<std::string>& damaged);
  // Waits until each offered result is stored, or cannot be stored.
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
  // Returns the entry of a result. Nullopt: a blob is gone, damaged or too large.
  std::optional<RemoteEntry> entry_of(const ActionResult& result) const;
  // Returns the blobs of these entries that are missing or damaged on the server.
  std::vector<Blob> absent(const std::vector<RemoteEntry>& entries);
  void store_blobs(const std::vector<Blob>& blobs);
  // Stores the entries whose blobs are all on the server; returns how many are stored.
  int64_t store_entries(const std::vector<RemoteEntry>& entries);
  // Sends the requests. Returns for each request whether the server accepted it.
  std::vector<bool> put(const std::vector<HttpRequest>& requests);

  Http& http_;
  const FolderBlobStore& blobs_;
  RemoteAddress address_;
  std::unordered_set<std::string> there_;  // blobs that the server has, by SHA-256

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<ActionResult> offered_;
  bool is_storing_ = false;
  bool is_ending_ = false;
  UploadCounts counts_;
  std::unordered_set<std::string> damaged_;
  std::thread thread_;
};

}  // namespace evolve::cache
