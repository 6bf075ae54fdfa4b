// The Kubernetes API over the HTTP port, in its own JSON: one request at a time, tried again where
// the server is busy or away.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/core/http.h"
#include "engine/core/result.h"

namespace evolve::k8s {

struct Answer {
  int status = 0;       // as 200, 201, 404, 409
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
};

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

 private:
  Result<Answer> call(const HttpRequest& request);
  Result<HttpResponse> perform(HttpRequest request, bool is_refused);

  Http& http_;
  std::string server_;
  ApiSurroundings surroundings_;
};

}  // namespace evolve::k8s
