// The Store port on a web server (remote_address.h), for work on other machines. Requests that fail
// are tried again for a short time. After that, a failure is an error, because such work cannot
// continue without the store.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/remote_address.h"
#include "engine/core/http.h"
#include "engine/core/ports.h"
#include "engine/core/store.h"

namespace evolve::cache {

// May be called by several threads at once.
class RemoteStore : public Store {
 public:
  // `http` and `files` must outlive this.
  RemoteStore(Http& http, Files& files, RemoteAddress address, Patience patience)
      : http_(http), files_(files), address_(std::move(address)), patience_(std::move(patience)) {}

  Result<std::vector<StoredFile>> put(std::span<const std::string> paths) override;
  Status fetch(std::span<const WantedFile> files) override;
  Status put_entry(const std::string& name, const StoreEntry& record) override;
  Result<std::vector<std::optional<StoreEntry>>> records(
      std::span<const std::string> names) override;

 private:
  struct Known {
    FileState state;
    StoredFile file;
  };

  // Returns a file's SHA-256 and size. Reads a file again only if it has changed.
  Result<StoredFile> identify(const std::string& path);
  // Performs the requests. Returns an error for the first request that did not succeed: `failed` if
  // the server has nothing at that place, otherwise `external`. With `may_lack`, it is not an error
  // that the server has nothing there.
  Result<std::vector<HttpResponse>> perform(std::span<const HttpRequest> requests, bool may_lack);

  Http& http_;
  Files& files_;
  RemoteAddress address_;
  Patience patience_;
  std::mutex mutex_;                              // guards the members below
  std::unordered_map<std::string, Known> known_;  // by path
  std::unordered_set<std::string> there_;         // files that the server has, by SHA-256
};

}  // namespace evolve::cache
