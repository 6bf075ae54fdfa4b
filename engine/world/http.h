// The Http port by libcurl; the only code that includes libcurl.
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
  // The limit for connecting, and for the time in which an answer may average less than 1 kB a
  // second. A whole request may take 60 times as long.
  int timeout_seconds = 10;
  std::string user_password;  // "name:password"; empty: none
  std::string bearer_token;   // empty: none
  // PEM texts: the authorities to trust instead of the machine's own, our certificate, and its key.
  // Empty: none.
  std::string authorities;
  std::string certificate;
  std::string certificate_key;
  bool is_unverified = false;  // the server's certificate is not checked
  // Whether requests go on after the user has interrupted, to clean something up.
  bool outlives_interrupt = false;
};

// Returns the default patience, whose pauses wait in real time.
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
  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<Connections>> idle_;
};

}  // namespace evolve::world
