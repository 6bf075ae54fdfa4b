// The exchange: one question to a model and its answer. The question is repeated after an error
// that may pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/http.h"
#include "engine/core/result.h"
#include "engine/llm/chat.h"

namespace evolve::llm {

// The rules of an exchange.
struct Conduct {
  // The pauses between attempts, and the number of tries in all. Pauses double, up to a minute.
  Patience patience;
  std::function<double()> monotonic_seconds;
  // Called before each attempt, to wait for our own rate limit. May be empty.
  std::function<Status()> take_turn = {};
  uint64_t random_seed = 0;  // for the pauses' jitter
  int most_seconds = 600;    // for an attempt
  int most_silence = 300;    // seconds without a byte, after which an attempt is given up
};

struct Attempt {
  int status = 0;           // HTTP's; 0: no answer
  std::string outcome;      // "ok", or the error
  double pause = 0;         // seconds before the attempt
  bool is_control = false;  // an attempt of the control question
};

struct Exchange {
  // The server's words, if it refused this request but answered the control question. Then `reply`
  // answers the control question.
  std::optional<std::string> refusal;
  Reply reply;
  std::vector<Attempt> attempts;
  double seconds = 0;  // of the attempt that was answered
};

// Returns the same request with hardly any words. If a server refuses this request, too, it refuses
// how we ask (the model, its parameters, the account), and not what we ask. Error bodies do not
// distinguish the two cases, because both have the same type and code, and proxies drop the bodies.
ChatRequest control_question(const ChatRequest& request);

// Asks, and asks again after an error that may pass (ChatCause). The pauses grow and are jittered
// ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015: half of a pause is fixed). No
// pause is shorter than the server asks for. If a request is refused and the control question is
// answered, the result is a refusal. External error: asking again did not help, or the server asks
// for a pause of more than five minutes. Bad input: an error that the user must fix; a hint about
// the key names `key_variable`. No message or refusal holds the key or a word like it.
Result<Exchange> converse(Http& http, const ChatRequest& request, const std::string& key,
                          const std::string& key_variable, const Conduct& conduct);

// Returns the key in an environment variable, without blanks around it. Bad input: the variable
// holds no key, or a key that a header cannot contain. An empty `variable`: no key is needed.
Result<std::string> usable_key(const std::string& variable, const char* value);

// Our own rate limit, which several processes share through a small file. Attempts at one model
// start at least 60 / requests_per_minute seconds apart (the generic cell rate algorithm of ITU-T
// I.371 without a burst). `state` is the file's text: the wall clock's seconds at which the last
// attempt starts. The state is ignored if it is not a number, or if its time is further ahead than
// any queue could reach.
struct Turn {
  double start = 0;   // of our attempt, in seconds of the same clock
  std::string state;  // to be written before the next process reads
};
Turn next_turn(std::string_view state, double now, double requests_per_minute);

}  // namespace evolve::llm
