// HTTP by libcurl, the only code that includes it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/core/http.h"

namespace evolve::world {

struct HttpOptions {
  // To connect within, and then to hear a kilobyte a second on the average of. A request may take
  // sixty times that in all.
  int timeout_seconds = 10;
  std::string user_password;  // "name:password"; empty: none
  std::string bearer_token;   // empty: none
  // PEM: whom to believe, instead of the machine's own authorities; and who we are. Empty: none.
  std::string authorities;
  std::string certificate;
  std::string certificate_key;
  bool is_unverified = false;  // any server is believed to be the one that it says
  // Requests are performed when the user has interrupted, too: something has to be cleaned up.
  bool outlives_interrupt = false;
};

// The usual patience, which waits in earnest.
Patience patience();

class CurlHttp : public Http {
 public:
  explicit CurlHttp(HttpOptions options);
  ~CurlHttp() override;
  CurlHttp(const CurlHttp&) = delete;
  CurlHttp& operator=(const CurlHttp&) = delete;

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override;
  void stop() override { is_stopped_ = true; }

 private:
  struct Connections;
  std::unique_ptr<Connections> take_connections();

  HttpOptions options_;
  std::atomic<bool> is_stopped_ = false;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Connections>> idle_;
};

}  // namespace evolve::world
