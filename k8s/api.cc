#include "k8s/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

// Limit for the size of an answer, in bytes. A list of some ten thousand pods is smaller.
constexpr int64_t kMostBytes = int64_t{256} << 20;

constexpr int kUnauthorized = 401;

}  // namespace

std::string ApiResponse::why() const {
  const std::string message = text_at_place(body, "/message");
  return message.empty() ? fmt::format("HTTP status {}", status) : message;
}

Result<ApiResponse> Api::get(const std::string& path) {
  HttpRequest request;
  request.url = server_ + path;
  return call(request);
}

Result<ApiResponse> Api::create(const std::string& path, const json& object) {
  HttpRequest request;
  request.method = HttpRequest::Method::post;
  request.url = server_ + path;
  request.body = json_line(object);
  request.headers = {"Content-Type: application/json"};
  return call(request);
}

Result<ApiResponse> Api::patch(const std::string& path, const json& change) {
  HttpRequest request;
  request.method = HttpRequest::Method::patch;
  request.url = server_ + path;
  request.body = json_line(change);
  request.headers = {"Content-Type: application/merge-patch+json"};
  return call(request);
}

Result<ApiResponse> Api::remove(const std::string& path) {
  HttpRequest request;
  request.method = HttpRequest::Method::remove;
  request.url = server_ + path;
  request.body = R"({"propagationPolicy":"Background"})";
  request.headers = {"Content-Type: application/json"};
  return call(request);
}

Result<std::string> Api::text(const std::string& path) {
  HttpRequest request;
  request.url = server_ + path;
  TRY_ASSIGN(auto response, perform(request, false));
  if (is_success(response.status)) return std::move(response.body);
  return external(
      fmt::format("GET {}: HTTP status {}{}", request.url, response.status, response.fault));
}

Result<ApiResponse> Api::stream(const std::string& path,
                                const std::function<bool(std::string_view line)>& take) {
  std::string begun;
  HttpRequest request;
  request.url = server_ + path;
  request.take = [&](std::string_view bytes) {
    begun += bytes;
    size_t start = 0;
    for (size_t end = begun.find('\n'); end != std::string::npos; end = begun.find('\n', start)) {
      if (!take(std::string_view(begun).substr(start, end - start))) return false;
      start = end + 1;
    }
    begun.erase(0, start);
    return true;
  };
  return call(request);
}

void Api::wait_turn() {
  if (!connection_.clock) return;
  double wait = 0;
  {
    const std::lock_guard lock(mutex_);
    const double now = connection_.clock();
    // Unused turns are kept, up to kMostAtOnce.
    next_turn_ = std::max(next_turn_, now - kMostAtOnce / kMostPerSecond) + 1 / kMostPerSecond;
    wait = next_turn_ - now;
  }
  if (wait > 0) connection_.pause(wait);
}

Result<HttpResponse> Api::perform(HttpRequest request, bool is_refused) {
  wait_turn();
  TRY_ASSIGN(auto token, connection_.token(is_refused));
  if (!token.empty()) request.headers.push_back("Authorization: Bearer " + token);
  request.headers.emplace_back("Accept: application/json");
  request.most_bytes = kMostBytes;
  const std::span one(&request, 1);
  auto answers =
      request.take ? http_.perform(one) : perform_patiently(http_, one, {connection_.pause});
  return std::move(answers.front());
}

Result<ApiResponse> Api::call(const HttpRequest& request) {
  const std::string where = fmt::format("{} {}", method_name(request.method), request.url);
  auto response = perform(request, false);
  if (response && response->status == kUnauthorized) response = perform(request, true);
  if (!response) return std::move(response).error();
  if (response->status == kUnauthorized) {
    Error error = external(where + ": the server does not accept the credential");
    error.hint = "the credential may have expired; kubectl get pods uses the same credential";
    return error;
  }
  ApiResponse out{response->status, json_or_null(response->body)};
  // A proxy between us and the server may give an answer that is not JSON.
  if (!out.body.is_object()) out.body = json::object();
  if (response->status != 0 && !is_passing(*response)) return out;
  return external(
      fmt::format("{}: {}", where, response->fault.empty() ? out.why() : response->fault));
}

}  // namespace evolve::k8s
