#include "cache/account_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/core/outside_json.h"

namespace evolve::cache {

namespace {

using nlohmann::json;

constexpr int kUnauthorized = 401;
// Limit for the size of an answer, in bytes. The metadata server's answers are smaller.
constexpr int64_t kMostBytes = 1 << 16;
// A token is renewed this many seconds before it expires, as in Google's own libraries. Earlier,
// the metadata server would return the same token again.
constexpr double kRenewedBefore = 225;

std::vector<HttpRequest> with_token(std::span<const HttpRequest> requests,
                                    const std::string& token) {
  std::vector<HttpRequest> out(requests.begin(), requests.end());
  for (HttpRequest& request : out) request.headers.push_back("Authorization: Bearer " + token);
  return out;
}

// Returns whether a text can be a token. The text becomes part of a request's line.
bool is_token(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

AccountHttp::AccountHttp(std::unique_ptr<Http> http, std::string_view metadata_host,
                         std::function<double()> seconds)
    : http_(std::move(http)),
      url_(fmt::format("http://{}/computeMetadata/v1/instance/service-accounts/default/token",
                       metadata_host)),
      seconds_(std::move(seconds)) {}

std::vector<HttpResponse> AccountHttp::perform(std::span<const HttpRequest> requests) {
  if (requests.empty()) return {};
  const auto first = token("");
  if (!first) {
    HttpResponse none;
    none.fault = first.error().message;
    return std::vector<HttpResponse>(requests.size(), none);
  }
  auto out = http_->perform(with_token(requests, *first));
  std::vector<size_t> again;
  std::vector<HttpRequest> refused;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].status != kUnauthorized) continue;
    again.push_back(i);
    refused.push_back(requests[i]);
  }
  if (refused.empty()) return out;
  const auto second = token(*first);
  if (!second || *second == *first) return out;
  auto answers = http_->perform(with_token(refused, *second));
  for (size_t i = 0; i < again.size(); ++i) out[again[i]] = std::move(answers[i]);
  return out;
}

Result<std::string> AccountHttp::token(const std::string& refused) {
  const std::lock_guard lock(mutex_);
  if (!known_.empty() && known_ != refused && seconds_() < good_until_) return known_;
  auto out = ask();
  known_ = out ? *out : "";
  return out;
}

Result<std::string> AccountHttp::ask() {
  HttpRequest request;
  request.url = url_;
  request.most_bytes = kMostBytes;
  // The server answers only requests with this header, which a web page in a browser cannot send.
  request.headers = {"Metadata-Flavor: Google"};
  const double now = seconds_();
  const HttpResponse answer = http_->perform({&request, 1}).front();
  if (answer.fault == "stopped") return external(answer.fault);
  std::string why = answer.fault;
  if (is_success(answer.status)) {
    json body = json_or_null(answer.body);
    if (!body.is_object()) body = json::object();
    const json& text = body["access_token"];
    const json& seconds = body["expires_in"];
    if (text.is_string() && is_token(text.get<std::string>()) && seconds.is_number()) {
      good_until_ = now + seconds.get<double>() - kRenewedBefore;
      return text.get<std::string>();
    }
    why = "the answer has no token";
  } else if (answer.status != 0) {
    why = fmt::format("HTTP status {}", answer.status);
  }
  return external(fmt::format("no credential is set, and {}: {}", url_, why));
}

}  // namespace evolve::cache
