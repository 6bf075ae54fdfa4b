#include "engine/core/http.h"

#include <algorithm>
#include <utility>

namespace evolve {

namespace {

constexpr int kTooManyRequests = 429, kServerError = 500;

}  // namespace

const char* method_name(HttpRequest::Method method) {
  switch (method) {
    case HttpRequest::Method::get: return "GET";
    case HttpRequest::Method::head: return "HEAD";
    case HttpRequest::Method::put: return "PUT";
    case HttpRequest::Method::post: return "POST";
    case HttpRequest::Method::patch: return "PATCH";
    case HttpRequest::Method::remove: return "DELETE";
  }
  return "";
}

bool is_passing(const HttpResponse& response) {
  if (response.is_local_fault || response.fault == "stopped") return false;
  return response.status == 0 || response.status == kTooManyRequests ||
         response.status >= kServerError;
}

std::vector<HttpResponse> perform_patiently(Http& http, std::span<const HttpRequest> requests,
                                            const Patience& patience) {
  std::vector<HttpResponse> out = http.perform(requests);
  double pause = patience.first_pause;
  for (int tries = 1; tries < patience.tries; ++tries) {
    std::vector<size_t> again;
    std::vector<HttpRequest> left;
    double asked = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      if (!is_passing(out[i])) continue;
      again.push_back(i);
      left.push_back(requests[i]);
      asked = std::max(asked, out[i].retry_after_seconds);
    }
    if (left.empty()) break;
    patience.pause(std::max(asked, pause));
    pause *= 2;
    auto answers = http.perform(left);
    for (size_t i = 0; i < again.size(); ++i) out[again[i]] = std::move(answers[i]);
  }
  return out;
}

}  // namespace evolve
