// The Kubernetes API over the HTTP port, in its own JSON: requests, tried again where the server is
// busy or away, and streams.
#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/http.h"
#include "engine/core/result.h"

namespace evolve::k8s {

constexpr int kNotFound = 404, kConflict = 409;

struct Answer {
  int status = 0;       // as 200, 201, kNotFound
  nlohmann::json body;  // an object; of a refusal a Status, with `reason` and `message`

  [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
  // "pods is forbidden: User …": why it was refused.
  [[nodiscard]] std::string why() const;
};

// What the API asks of the world besides HTTP.
struct ApiSurroundings {
  // The bearer token; empty: none. `is_refused`: the last one was turned down, so another is
  // wanted.
  std::function<Result<std::string>(bool is_refused)> token;
  std::function<void(double seconds)> pause;
  // Seconds of a clock that only goes on; where it is given, requests are `kMostPerSecond` on the
  // average at most.
  std::function<double()> clock = {};
};

// A server shares itself fairly among its clients, and many turn down who asks more often.
inline constexpr double kMostPerSecond = 50;
inline constexpr double kMostAtOnce = 100;

// May be used by several threads at once.
class Api {
 public:
  // `server` as Access has it. `http` must outlive this.
  Api(Http& http, std::string server, ApiSurroundings surroundings)
      : http_(http), server_(std::move(server)), surroundings_(std::move(surroundings)) {}

  // `path` as "/api/v1/namespaces/default". Any answer of the server's is one, a refusal too. Where
  // it cannot be reached, is overloaded (429) or fails (5xx), it is asked again a few times, after
  // as long as it says or twice as long as before; then that is the error, of the world. So is a
  // credential that it turns down (401), after another one was tried.
  Result<Answer> get(const std::string& path);
  // Creates an object. What was created once and whose answer was lost is there already: 409.
  Result<Answer> create(const std::string& path, const nlohmann::json& object);
  // Changes an object by a JSON merge patch (RFC 7386).
  Result<Answer> patch(const std::string& path, const nlohmann::json& change);
  // Deletes an object, and what it owns after it. 404: it is gone.
  Result<Answer> remove(const std::string& path);
  // As get(), of an answer that is not JSON: a pod's log.
  Result<std::string> text(const std::string& path);
  // Has `take` have the lines of an answer that does not end soon, as they come, until it says
  // false. Returns when the stream has ended, with how: status 200, or a refusal. A stream that
  // breaks is an error.
  Result<Answer> stream(const std::string& path,
                        const std::function<bool(std::string_view line)>& take);

 private:
  Result<Answer> call(const HttpRequest& request);
  Result<HttpResponse> perform(HttpRequest request, bool is_refused);
  // Waits for its turn.
  void wait_turn();

  Http& http_;
  std::string server_;
  ApiSurroundings surroundings_;
  std::mutex mutex_;      // of what follows
  double next_turn_ = 0;  // by the clock
};

}  // namespace evolve::k8s
