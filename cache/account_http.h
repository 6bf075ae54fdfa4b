// The Http port as a machine's own service account. Each request carries the token that Google's
// metadata server gives to programs on its machines and, with Workload Identity, in their pods.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/http.h"
#include "engine/core/result.h"

namespace evolve::cache {

// May be called by several threads at once, if `http` may.
class AccountHttp : public Http {
 public:
  // `metadata_host`: "host" or "host:port". `seconds`: a clock that never goes back.
  AccountHttp(std::unique_ptr<Http> http, std::string_view metadata_host,
              std::function<double()> seconds);

  // Where there is no token, no request is sent: each answer says why, as if the server were away.
  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override;
  void stop() override { http_->stop(); }

 private:
  // Returns the known token while it is good and is not the `refused` one; otherwise a new one.
  Result<std::string> token(const std::string& refused);
  // Asks the metadata server for a token. REQUIRES: mutex_ is held.
  Result<std::string> ask();

  std::unique_ptr<Http> http_;
  std::string url_;
  std::function<double()> seconds_;
  std::mutex mutex_;  // guards the members below; held during ask(), so that one request serves all
  std::string known_;
  double good_until_ = 0;
};

}  // namespace evolve::cache
