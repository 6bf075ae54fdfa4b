// A build's remote cache: its settings, the memo through which the build uses it, and the report at
// the end.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/remote.h"
#include "cache/shared_memo.h"
#include "cache/uploads.h"
#include "engine/app/state.h"
#include "engine/core/http.h"

namespace evolve {

struct RemoteSettings {
  std::string url;           // empty: $EVOLVE_REMOTE_CACHE; if that is empty, no cache
  bool writes = false;       // results are stored there, too
  int timeout_seconds = 10;  // as in world::HttpOptions
};

struct RemoteReport {
  cache::DownloadCounts downloads;
  cache::UploadCounts uploads;
};

// Returns the address on the command line or in $EVOLVE_REMOTE_CACHE; nullopt: no remote cache is
// wanted. If $STORAGE_EMULATOR_HOST ("host:port" or a URL) is set, requests to a bucket go there.
Result<std::optional<cache::RemoteAddress>> remote_address(const RemoteSettings& settings);
// Returns the client for `address`. Its credential is $EVOLVE_REMOTE_CACHE_TOKEN or
// $EVOLVE_REMOTE_CACHE_USER ("name:password"). If neither is set, requests to a bucket of Google's
// use the machine's or the pod's own account (cache/account_http.h). $GCE_METADATA_HOST names the
// metadata server that has the account.
std::unique_ptr<Http> remote_http(const RemoteSettings& settings,
                                  const cache::RemoteAddress& address);

class Remote {
 public:
  // Returns the remote cache; null: no remote cache is wanted. Sends nothing to the server yet.
  // `state` must outlive the cache.
  static Result<std::unique_ptr<Remote>> open(const RemoteSettings& settings, State& state);

  Memo& memo() { return memo_; }
  cache::RemoteCache& cache() { return cache_; }
  // Waits until everything is stored, and returns the counts.
  RemoteReport finish();

 private:
  Remote(const RemoteSettings& settings, const cache::RemoteAddress& address, State& state);

  std::unique_ptr<Http> http_;
  cache::RemoteCache cache_;
  std::unique_ptr<cache::Uploads> uploads_;  // null: read-only
  cache::SharedMemo memo_;
};

// Returns one warning for each kind of trouble.
std::vector<std::string> warnings_of(const RemoteReport& report);
nlohmann::json json_of(const RemoteReport& report);
// Returns a text such as "remote cache: 41 results fetched (1.2 MB), 3 stored (20 kB)".
std::string text_of(const RemoteReport& report);

}  // namespace evolve
