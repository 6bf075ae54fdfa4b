#include "k8s/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace evolve::k8s {

namespace {

using nlohmann::json;

// Seven seconds in all: an API server's restart, or a moment's overload.
constexpr int kMostTries = 5;
constexpr double kFirstPause = 0.5;
// As much as a list of some ten thousand pods.
constexpr int64_t kMostBytes = int64_t{256} << 20;

constexpr int kUnauthorized = 401;
constexpr int kTooManyRequests = 429;

bool is_passing(int status) {
  return status == 0 || status == kTooManyRequests || status >= 500;
}

const char* verb_of(HttpRequest::Method method) {
  return method == HttpRequest::Method::get ? "GET" : "POST";
}

}  // namespace

std::string Answer::why() const {
  const std::string message = body.is_object() ? body.value("message", "") : "";
  return message.empty() ? fmt::format("HTTP status {}", status) : message;
}

Result<Answer> Api::get(const std::string& path) {
  HttpRequest request;
  request.url = server_ + path;
  return call(std::move(request));
}

Result<Answer> Api::create(const std::string& path, const json& object) {
  HttpRequest request;
  request.method = HttpRequest::Method::post;
  request.url = server_ + path;
  request.body = object.dump();
  request.headers = {"Content-Type: application/json"};
  return call(std::move(request));
}

Result<HttpResponse> Api::perform(HttpRequest request, bool is_refused) {
  auto token = surroundings_.token(is_refused);
  if (!token) return std::move(token).error();
  if (!token->empty()) request.headers.push_back("Authorization: Bearer " + *token);
  request.headers.emplace_back("Accept: application/json");
  request.most_bytes = kMostBytes;
  return std::move(http_.perform(std::span(&request, 1)).front());
}

Result<Answer> Api::call(HttpRequest request) {
  const std::string where = fmt::format("{} {}", verb_of(request.method), request.url);
  double pause = kFirstPause;
  bool is_refused = false;
  for (int tries = 1;; ++tries) {
    auto response = perform(request, is_refused);
    if (!response) return std::move(response).error();
    if (response->status == kUnauthorized && !std::exchange(is_refused, true)) continue;
    json body = json::parse(response->body, nullptr, false);
    if (!is_passing(response->status)) {
      if (response->status == kUnauthorized) {
        Error error = external(where + ": the server does not know who we are");
        error.hint = "the credential may have expired; kubectl get pods asks the same way";
        return error;
      }
      // A proxy between us and the server answers in no JSON.
      if (!body.is_object()) body = json::object();
      return Answer{response->status, std::move(body)};
    }
    if (tries == kMostTries || response->fault == "stopped") {
      return external(fmt::format(
          "{}: {}", where,
          response->fault.empty() ? Answer{response->status, body}.why() : response->fault));
    }
    surroundings_.pause(std::max(response->retry_after_seconds, pause));
    pause *= 2;
  }
}

}  // namespace evolve::k8s
