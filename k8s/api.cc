#include "k8s/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace evolve::k8s {

namespace {

using nlohmann::json;

// As much as a list of some ten thousand pods.
constexpr int64_t kMostBytes = int64_t{256} << 20;

constexpr int kUnauthorized = 401;

}  // namespace

std::string Answer::why() const {
  const std::string message = body.is_object() ? body.value("message", "") : "";
  return message.empty() ? fmt::format("HTTP status {}", status) : message;
}

Result<Answer> Api::get(const std::string& path) {
  HttpRequest request;
  request.url = server_ + path;
  return call(request);
}

Result<Answer> Api::create(const std::string& path, const json& object) {
  HttpRequest request;
  request.method = HttpRequest::Method::post;
  request.url = server_ + path;
  request.body = object.dump();
  request.headers = {"Content-Type: application/json"};
  return call(request);
}

Result<HttpResponse> Api::perform(HttpRequest request, bool is_refused) {
  auto token = surroundings_.token(is_refused);
  if (!token) return std::move(token).error();
  if (!token->empty()) request.headers.push_back("Authorization: Bearer " + *token);
  request.headers.emplace_back("Accept: application/json");
  request.most_bytes = kMostBytes;
  const std::span one(&request, 1);
  auto answers =
      request.take ? http_.perform(one) : perform_patiently(http_, one, {surroundings_.pause});
  return std::move(answers.front());
}

Result<Answer> Api::call(const HttpRequest& request) {
  const std::string where = fmt::format("{} {}", method_name(request.method), request.url);
  auto response = perform(request, false);
  if (response && response->status == kUnauthorized) response = perform(request, true);
  if (!response) return std::move(response).error();
  if (response->status == kUnauthorized) {
    Error error = external(where + ": the server does not know who we are");
    error.hint = "the credential may have expired; kubectl get pods asks the same way";
    return error;
  }
  Answer out{response->status, json::parse(response->body, nullptr, false)};
  // A proxy between us and the server answers in no JSON.
  if (!out.body.is_object()) out.body = json::object();
  if (response->status != 0 && !is_passing(*response)) return out;
  return external(
      fmt::format("{}: {}", where, response->fault.empty() ? out.why() : response->fault));
}

}  // namespace evolve::k8s
