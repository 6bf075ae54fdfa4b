#include "engine/llm/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/core/text/lines.h"
#include "engine/search/space/random.h"

namespace evolve::llm {

namespace {

constexpr double kMostPause = 60;             // seconds; the longest pause of our own
constexpr double kMostAsked = 300;            // seconds; the longest that a server may ask for
constexpr int64_t kMostBodyBytes = 64 << 10;  // of an answer that is not a success

// The result of one attempt.
struct AttemptResult {
  int status = 0;
  std::optional<ChatError> error;
  Reply reply;
  double asked = 0;         // seconds that the server asks us to wait
  bool is_stopped = false;  // by us
};

// Whether the account has no money left. OpenAI answers 429 both for this and for a rate limit.
bool is_quota(std::string_view body) {
  return body.find("insufficient_quota") != std::string_view::npos;
}

std::string words_of(const HttpResponse& response) {
  if (response.status == 0) return response.fault.empty() ? "no answer" : response.fault;
  const std::string words = error_words(response.body);
  return words.empty() ? fmt::format("HTTP {}", response.status)
                       : fmt::format("HTTP {}: {}", response.status, words);
}

AttemptResult attempt(Http& http, HttpRequest call, ChatApi api, const Conduct& conduct) {
  ReplyReader reader(api);
  call.take = [&reader](std::string_view bytes) { return reader.add(bytes); };
  call.most_bytes = kMostBodyBytes;
  call.most_seconds = conduct.most_seconds;
  call.most_silence = conduct.most_silence;
  const std::vector<HttpResponse> responses = http.perform({&call, 1});
  const HttpResponse& response = responses.front();
  AttemptResult out;
  out.status = response.status;
  out.asked = response.retry_after_seconds;
  if (!is_success(response.status)) {
    const ChatCause cause =
        is_quota(response.body) ? ChatCause::setup : cause_of_status(response.status);
    out.error = ChatError{words_of(response), cause};
    out.is_stopped = response.status == 0 && !is_passing(response);
    return out;
  }
  out.error = reader.finish();
  if (!out.error) out.reply = reader.reply();
  return out;
}

Error lasting_error(const std::string& url, const AttemptResult& outcome,
                    const std::string& key_variable) {
  Error out = bad_input(fmt::format("{}: {}", url, outcome.error->message));
  constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404;
  if (outcome.status == kUnauthorized || outcome.status == kForbidden) {
    out.hint = key_variable.empty()
                   ? "the model's 'key_variable' names the environment variable with the key"
                   : fmt::format("the key comes from the environment variable '{}'", key_variable);
  } else if (outcome.status == kNotFound) {
    out.hint = "check the model's 'base_url' and name";
  } else if (outcome.error->cause == ChatCause::request) {
    out.hint = "a short test question is rejected, too: check the model in llm.json";
  }
  return out;
}

// Returns the server's number of seconds, or 0 if the number is not finite or not above 0.
double sound(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

// One exchange, attempt by attempt.
class Conversation {
 public:
  Conversation(Http& http, const std::string& key, const std::string& key_variable,
               const Conduct& conduct)
      : http_(http),
        key_(key),
        key_variable_(key_variable),
        conduct_(conduct),
        random_(conduct.random_seed) {}

  Result<Exchange> hold(const ChatRequest& request) {
    auto answer = ask(request, false);
    if (!answer) return std::move(answer).error();
    if (answer->error) {
      auto control = ask(control_question(request), true);
      if (!control) return std::move(control).error();
      if (control->error)
        return lasting_error(http_request(request, "").url, *answer, key_variable_);
      exchange_.refusal = std::move(answer->error->message);
      answer = std::move(control);
    }
    exchange_.reply = std::move(answer->reply);
    return std::move(exchange_);
  }

 private:
  // Asks until there is a reply, or the request is refused.
  Result<AttemptResult> ask(const ChatRequest& request, bool is_control) {
    const HttpRequest call = http_request(request, key_);
    double pause = 0, next_pause = conduct_.patience.first_pause;
    for (int tries = 1;; ++tries) {
      auto outcome = attempt_once(call, request.api, {0, "ok", pause, is_control});
      if (!outcome) return std::move(outcome).error();
      if (!outcome->error || outcome->error->cause == ChatCause::request) return outcome;
      if (outcome->error->cause == ChatCause::setup)
        return lasting_error(call.url, *outcome, key_variable_);
      const std::string& words = outcome->error->message;
      if (tries >= conduct_.patience.tries || outcome->is_stopped)
        return external(fmt::format("{}: {} ({} attempts)", call.url, words, tries));
      const double asked = sound(outcome->asked);
      if (asked > kMostAsked) {
        return external(
            fmt::format("{}: {}; the server asks to wait {:.0f} s", call.url, words, asked));
      }
      pause = std::max(asked, std::min(next_pause, kMostPause) * (0.5 + random_.unit() / 2));
      next_pause *= 2;
      conduct_.patience.pause(pause);
    }
  }

  // Makes one attempt. `record` has the values that are known before the attempt.
  Result<AttemptResult> attempt_once(const HttpRequest& call, ChatApi api, Attempt record) {
    if (conduct_.take_turn) {
      TRY(conduct_.take_turn());
    }
    const double start = conduct_.monotonic_seconds();
    AttemptResult out = attempt(http_, call, api, conduct_);
    exchange_.seconds = conduct_.monotonic_seconds() - start;
    record.status = out.status;
    if (out.error) {
      out.error->message = without_key(out.error->message, key_);
      record.outcome = out.error->message;
    }
    exchange_.attempts.push_back(std::move(record));
    return out;
  }

  Http& http_;
  const std::string& key_;
  const std::string& key_variable_;
  const Conduct& conduct_;
  search::Random random_;
  Exchange exchange_;
};

}  // namespace

ChatRequest control_question(const ChatRequest& request) {
  ChatRequest out = request;
  if (!out.system.empty()) out.system = "You answer with one word.";
  out.messages = {{"user", "Say yes."}};
  return out;
}

Result<Exchange> converse(Http& http, const ChatRequest& request, const std::string& key,
                          const std::string& key_variable, const Conduct& conduct) {
  return Conversation(http, key, key_variable, conduct).hold(request);
}

Result<std::string> usable_key(const std::string& variable, const char* value) {
  if (variable.empty()) return std::string();
  const std::string key(without_blanks(value == nullptr ? "" : value));
  if (key.empty()) {
    return bad_input(fmt::format(
        "environment variable '{}': not set, but the model's key is expected in it", variable));
  }
  const bool is_sound =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_sound) {
    return bad_input(fmt::format(
        "environment variable '{}': not a key: contains a blank or a character beyond ASCII",
        variable));
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
