// The Kubernetes API over the HTTP port, with the API's own JSON. Requests are tried again if the
// server is busy or cannot be reached.
#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/http.h"
#include "engine/core/result.h"

namespace evolve::k8s {

constexpr int kNotFound = 404, kConflict = 409;

struct ApiResponse {
  int status = 0;       // such as 200, 201, kNotFound
  nlohmann::json body;  // an object; for a refusal a Status, with `reason` and `message`

  [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
  // Returns why the request was refused, such as "pods is forbidden: User …".
  [[nodiscard]] std::string why() const;
};

// The functions that the API needs in addition to HTTP.
struct ApiConnection {
  // Returns the bearer token; empty: none. `is_refused`: the last token was rejected, so a new
  // token is needed.
  std::function<Result<std::string>(bool is_refused)> token;
  std::function<void(double seconds)> pause;
  // Seconds of a clock that never goes back. With a clock, requests are limited to `kMostPerSecond`
  // on average; null: no limit.
  std::function<double()> clock = {};
};

// Limits for our requests, per second on average and in one burst. A server shares its time fairly
// among its clients, and many servers reject a client that sends more.
inline constexpr double kMostPerSecond = 50;
inline constexpr double kMostAtOnce = 100;

// May be used by several threads at once.
class Api {
 public:
  // `server` has the form of Access::server. `http` must outlive this.
  Api(Http& http, std::string server, ApiConnection connection)
      : http_(http), server_(std::move(server)), connection_(std::move(connection)) {}

  // Gets an object; `path` is like "/api/v1/namespaces/default". Returns every answer of the
  // server, also a refusal. Tries again a few times if the server cannot be reached, is overloaded
  // (429) or fails (5xx). Each pause is as long as the server says, or twice the pause before.
  // External: the server still fails after that, or rejects a second credential, too (401).
  Result<ApiResponse> get(const std::string& path);
  // Creates an object. 409: the object exists already, perhaps from a request whose answer was
  // lost.
  Result<ApiResponse> create(const std::string& path, const nlohmann::json& object);
  // Changes an object by a JSON merge patch (RFC 7386).
  Result<ApiResponse> patch(const std::string& path, const nlohmann::json& change);
  // Deletes an object, and afterwards the objects that it owns. 404: there is no such object.
  Result<ApiResponse> remove(const std::string& path);
  // As get(), for an answer that is not JSON, such as a pod's log.
  Result<std::string> text(const std::string& path);
  // Gives `take` the lines of a long answer as they arrive, until `take` returns false. Returns how
  // the stream ended: status 200, or a refusal. A stream that breaks is an error.
  Result<ApiResponse> stream(const std::string& path,
                             const std::function<bool(std::string_view line)>& take);

 private:
  Result<ApiResponse> call(const HttpRequest& request);
  Result<HttpResponse> perform(HttpRequest request, bool is_refused);
  // Waits until the limits allow another request.
  void wait_turn();

  Http& http_;
  std::string server_;
  ApiConnection connection_;
  std::mutex mutex_;      // guards the members below
  double next_turn_ = 0;  // in seconds of the clock
};

}  // namespace evolve::k8s
