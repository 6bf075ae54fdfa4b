// An Http port that acts as the machine's own service account. Each request carries a token from
// Google's metadata server. That server gives tokens to programs on Google's machines and, with
// Workload Identity, to programs in their pods.
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

// Several threads may use this at the same time, if `http` allows that.
class AccountHttp : public Http {
 public:
  // `metadata_host`: "host" or "host:port". `seconds`: a clock that never goes back.
  AccountHttp(std::unique_ptr<Http> http, std::string_view metadata_host,
              std::function<double()> seconds);

  // Sends no request if there is no token. Then each answer has the reason as its fault, as if the
  // server could not be reached.
  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override;
  void stop() override { http_->stop(); }

 private:
  // Returns the known token if it is still valid and is not the `refused` one. Otherwise returns a
  // new token.
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
