#include "cache/uploads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cache/record_message.h"

namespace evolve::cache {

namespace {

constexpr size_t kUploadsAtOnce = 32;
constexpr int kStored = 200, kTooLarge = 413;

}  // namespace

Uploads::~Uploads() {
  {
    const std::lock_guard lock(mutex_);
    offered_.clear();
    is_ending_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  http_.stop();
  thread_.join();
}

void Uploads::offer(const ActionResult& result, const std::unordered_set<std::string>& damaged) {
  if (!is_of_files(result)) return;
  const std::lock_guard lock(mutex_);
  if (!counts_.fault.empty()) {
    ++counts_.unstored;
    return;
  }
  damaged_ = damaged;
  offered_.push_back(result);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

UploadCounts Uploads::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return offered_.empty() && !is_storing_; });
  return counts_;
}

void Uploads::run() {
  while (true) {
    std::vector<ActionResult> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_ending_ || !offered_.empty(); });
      if (is_ending_) return;
      const size_t count = std::min(offered_.size(), kUploadsAtOnce);
      const auto end = offered_.begin() + static_cast<std::ptrdiff_t>(count);
      batch.assign(std::make_move_iterator(offered_.begin()), std::make_move_iterator(end));
      offered_.erase(offered_.begin(), end);
      is_storing_ = true;
    }
    store(batch);
    {
      const std::lock_guard lock(mutex_);
      is_storing_ = false;
    }
    changed_.notify_all();
  }
}

bool Uploads::is_dropped() {
  const std::lock_guard lock(mutex_);
  return !counts_.fault.empty();
}

void Uploads::note_fault(const HttpRequest& request, const HttpResponse& response) {
  // A blob that is too large for the server, or gone here, is not a reason to stop the uploads.
  if (response.status == kTooLarge || response.is_local_fault) return;
  const std::lock_guard lock(mutex_);
  if (counts_.fault.empty()) counts_.fault = fault_text(request, response);
}

void Uploads::store(const std::vector<ActionResult>& results) {
  std::vector<RemoteEntry> entries;
  if (is_dropped()) {
    const std::lock_guard lock(mutex_);
    counts_.unstored += static_cast<int64_t>(results.size());
    return;
  }
  for (const ActionResult& result : results) {
    if (auto entry = entry_of(result)) entries.push_back(*std::move(entry));
  }
  store_blobs(absent(entries));
  const int64_t stored = store_entries(entries);
  const std::lock_guard lock(mutex_);
  counts_.stored += stored;
  counts_.unstored += static_cast<int64_t>(results.size()) - stored;
}

std::optional<RemoteEntry> Uploads::entry_of(const ActionResult& result) const {
  RemoteEntry out;
  out.result = result;
  out.result->parts.clear();
  for (const Digest& digest : result.outputs) {
    auto found = look_at_file(blobs_.path_of(digest));
    if (!found || found->digest != digest || found->file.bytes > kMostRemoteBytes) {
      return std::nullopt;
    }
    out.files.push_back(std::move(found->file));
  }
  return out;
}

std::vector<Uploads::Blob> Uploads::absent(const std::vector<RemoteEntry>& entries) {
  std::vector<Blob> out, asked;
  std::vector<HttpRequest> requests;
  std::unordered_set<std::string> seen = there_, damaged;
  {
    const std::lock_guard lock(mutex_);
    damaged = damaged_;
  }
  for (const RemoteEntry& entry : entries) {
    for (size_t i = 0; i < entry.files.size(); ++i) {
      const StoredFile& file = entry.files[i];
      if (!seen.insert(file.sha256).second) continue;
      const Blob blob{file.sha256, blobs_.path_of(entry.result->outputs[i]), file.bytes};
      // The server's file of that name is known to be damaged, so it is replaced without a check.
      if (damaged.contains(file.sha256)) {
        out.push_back(blob);
        continue;
      }
      asked.push_back(blob);
      requests.push_back(address_.look(RemoteAddress::file(file.sha256)));
    }
  }
  auto answers = http_.perform(requests);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (answers[i].status == kStored) {
      there_.insert(asked[i].sha256);
      continue;
    }
    if (answers[i].status == 0) note_fault(requests[i], answers[i]);
    out.push_back(asked[i]);
  }
  return out;
}

void Uploads::store_blobs(const std::vector<Blob>& blobs) {
  std::vector<HttpRequest> requests;
  requests.reserve(blobs.size());
  for (const Blob& blob : blobs) {
    requests.push_back(address_.put_file(RemoteAddress::file(blob.sha256), blob.path));
  }
  auto stored = put(requests);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (!stored[i]) continue;
    there_.insert(blobs[i].sha256);
    counts_.bytes += blobs[i].bytes;
  }
}

int64_t Uploads::store_entries(const std::vector<RemoteEntry>& entries) {
  std::vector<HttpRequest> requests, notes;
  auto put_entry = [this](const Digest& key, const RemoteEntry& entry) {
    return address_.put(RemoteAddress::entry(key), encode_entry(key, entry));
  };
  for (const RemoteEntry& entry : entries) {
    if (!std::all_of(entry.files.begin(), entry.files.end(),
                     [&](const StoredFile& file) { return there_.contains(file.sha256); })) {
      continue;
    }
    const ActionResult& result = *entry.result;
    HttpRequest request = put_entry(result.key, entry);
    if (static_cast<int64_t>(request.body.size()) > kMostEntryBytes) continue;
    requests.push_back(std::move(request));
    if (result.key != result.declared_key) {
      notes.push_back(put_entry(result.declared_key, {std::nullopt, {}, result.discovered}));
    }
  }
  auto stored = put(requests);
  put(notes);
  return std::count(stored.begin(), stored.end(), true);
}

std::vector<bool> Uploads::put(const std::vector<HttpRequest>& requests) {
  std::vector<bool> out(requests.size(), false);
  if (is_dropped()) return out;
  auto responses = http_.perform(requests);
  for (size_t i = 0; i < responses.size(); ++i) {
    out[i] = is_success(responses[i].status);
    if (!out[i]) note_fault(requests[i], responses[i]);
  }
  return out;
}

}  // namespace evolve::cache
