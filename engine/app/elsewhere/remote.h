// A build's remote cache: from the command line and the environment to the memo that the build
// asks, and what is told of it at the end.
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
  std::string url;           // empty: $EVOLVE_REMOTE_CACHE, and if that is empty too, none
  bool writes = false;       // results are stored there, too
  int timeout_seconds = 10;  // world::HttpOptions
};

struct RemoteReport {
  cache::DownloadCounts downloads;
  cache::UploadCounts uploads;
};

// The address that is asked for, of the command line or of $EVOLVE_REMOTE_CACHE; nullopt: none is.
// A bucket is asked at $STORAGE_EMULATOR_HOST, "host:port" or a URL, where that is set.
Result<std::optional<cache::RemoteAddress>> remote_address(const RemoteSettings& settings);
// What asks that address, as who one is: $EVOLVE_REMOTE_CACHE_TOKEN or $EVOLVE_REMOTE_CACHE_USER,
// as "name:password"; where neither is set a bucket of Google's is asked as the machine's or the
// pod's own account (cache/account_http.h), of the metadata server at $GCE_METADATA_HOST.
std::unique_ptr<Http> remote_http(const RemoteSettings& settings,
                                  const cache::RemoteAddress& address);

class Remote {
 public:
  // Null: none is asked for. The server is not asked for anything yet. `state` must outlive it.
  static Result<std::unique_ptr<Remote>> open(const RemoteSettings& settings, State& state);

  Memo& memo() { return memo_; }
  cache::RemoteCache& cache() { return cache_; }
  // Waits for what is still to be stored.
  RemoteReport finish();

 private:
  Remote(const RemoteSettings& settings, const cache::RemoteAddress& address, State& state);

  std::unique_ptr<Http> http_;
  cache::RemoteCache cache_;
  std::unique_ptr<cache::Uploads> uploads_;  // null: read-only
  cache::SharedMemo memo_;
};

// One warning for each kind of trouble that there was.
std::vector<std::string> warnings_of(const RemoteReport& report);
nlohmann::json json_of(const RemoteReport& report);
// "remote cache: 41 results taken (1.2 MB), 3 stored (20 kB)".
std::string text_of(const RemoteReport& report);

}  // namespace evolve
