#include "engine/llm/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/core/lines.h"
#include "engine/search/random.h"

namespace evolve::llm {

namespace {

constexpr double kMostPause = 60;             // seconds, of our own
constexpr double kMostAsked = 300;            // seconds, of the server's
constexpr int64_t kMostBodyBytes = 64 << 10;  // of an answer that is no success

// What one attempt came to.
struct Outcome {
  int status = 0;
  std::optional<ChatError> error;
  Reply reply;
  double asked = 0;  // seconds that the server asks us to wait
};

// The same, for 429, is said by OpenAI of a moment's rate and of an account without money.
bool is_quota(std::string_view body) {
  return body.find("insufficient_quota") != std::string_view::npos;
}

std::string words_of(const HttpResponse& response) {
  if (response.status == 0) return response.fault.empty() ? "no answer" : response.fault;
  const std::string words = error_words(response.body);
  return words.empty() ? fmt::format("HTTP {}", response.status)
                       : fmt::format("HTTP {}: {}", response.status, words);
}

Outcome attempt(Http& http, HttpRequest call, Api api, const Conduct& conduct) {
  ReplyReader reader(api);
  call.take = [&reader](std::string_view bytes) { return reader.add(bytes); };
  call.most_bytes = kMostBodyBytes;
  call.most_seconds = conduct.most_seconds;
  call.most_silence = conduct.most_silence;
  const std::vector<HttpResponse> responses = http.perform({&call, 1});
  const HttpResponse& response = responses.front();
  Outcome out;
  out.status = response.status;
  out.asked = response.retry_after_seconds;
  if (!is_success(response.status)) {
    out.error = ChatError{words_of(response), is_passing(response) && !is_quota(response.body)};
    return out;
  }
  out.error = reader.finish();
  if (!out.error) out.reply = reader.reply();
  return out;
}

Error lasting_error(const std::string& url, const Outcome& outcome,
                    const std::string& key_variable) {
  Error out = bad_input(fmt::format("{}: {}", url, outcome.error->message));
  constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404;
  if (outcome.status == kUnauthorized || outcome.status == kForbidden) {
    out.hint = key_variable.empty()
                   ? "the model's 'key_variable' names the environment variable with the key"
                   : fmt::format("the key is that of the environment variable '{}'", key_variable);
  } else if (outcome.status == kNotFound) {
    out.hint = "look at the model's 'base_url' and name";
  }
  return out;
}

// A sound number of seconds, whatever the server says.
double sound(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

}  // namespace

Result<Exchange> converse(Http& http, const ChatRequest& request, const std::string& key,
                          const std::string& key_variable, const Conduct& conduct) {
  const HttpRequest call = http_request(request, key);
  search::Random random(conduct.random_seed);
  Exchange out;
  double pause = 0, next_pause = conduct.patience.first_pause;
  for (int tries = 1;; ++tries) {
    if (conduct.take_turn) {
      if (auto status = conduct.take_turn(); !status) return std::move(status).error();
    }
    const double start = conduct.monotonic_seconds();
    Outcome outcome = attempt(http, call, request.api, conduct);
    out.seconds = conduct.monotonic_seconds() - start;
    if (outcome.error) outcome.error->message = without_key(outcome.error->message, key);
    out.attempts.push_back({outcome.status, outcome.error ? outcome.error->message : "ok", pause});
    if (!outcome.error) {
      out.reply = std::move(outcome.reply);
      return out;
    }
    if (!outcome.error->is_passing && outcome.status != 0)
      return lasting_error(call.url, outcome, key_variable);
    const double asked = sound(outcome.asked);
    const bool is_over = tries >= conduct.patience.tries || !outcome.error->is_passing;
    if (is_over || asked > kMostAsked) {
      return external(fmt::format("{}: {}{}", call.url, outcome.error->message,
                                  is_over
                                      ? fmt::format(" ({} attempts)", tries)
                                      : fmt::format("; the server asks to wait {:.0f} s", asked)));
    }
    pause = std::max(asked, std::min(next_pause, kMostPause) * (0.5 + random.unit() / 2));
    next_pause *= 2;
    conduct.patience.pause(pause);
  }
}

Result<std::string> usable_key(const std::string& variable, const char* value) {
  if (variable.empty()) return std::string();
  const std::string key(without_blanks(value == nullptr ? "" : value));
  if (key.empty()) {
    return bad_input(
        fmt::format("environment variable '{}': not set: the model's key is there", variable));
  }
  const bool is_sound =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_sound) {
    return bad_input(fmt::format(
        "environment variable '{}': no key: a blank or a letter beyond ASCII is in it", variable));
  }
  return key;
}

Turn next_turn(std::string_view state, double now, double requests_per_minute) {
  constexpr double kLongestQueue = 3600;
  const double apart = 60 / requests_per_minute;
  const double last = std::strtod(std::string(state).c_str(), nullptr);
  double start = now;
  if (std::isfinite(last) && last + apart < now + kLongestQueue)
    start = std::max(now, last + apart);
  return {start, fmt::format("{:.6f}\n", start)};
}

}  // namespace evolve::llm
