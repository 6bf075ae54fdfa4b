// One question to a model and its answer, asked again where that helps.
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

// How an exchange is held.
struct Conduct {
  // Waits; `tries` in all; `first_pause` is doubled from one to the next, up to a minute.
  Patience patience;
  std::function<double()> monotonic_seconds;
  // Called before each attempt: waits for our own rate limit. May be empty.
  std::function<Status()> take_turn = {};
  uint64_t random_seed = 0;  // of the pauses' jitter
  int most_seconds = 600;    // an attempt
  int most_silence = 300;    // seconds without a byte, after which an attempt is given up
};

struct Attempt {
  int status = 0;           // HTTP's; 0: no answer
  std::string outcome;      // "ok", or what was wrong
  double pause = 0;         // seconds waited before it
  bool is_control = false;  // the control question's
};

struct Exchange {
  // The server's words, where it refused this request and no other; then `reply` is the control
  // question's.
  std::optional<std::string> refusal;
  Reply reply;
  std::vector<Attempt> attempts;
  double seconds = 0;  // of the attempt that was answered
};

// The same request with hardly any words. Who refuses it, too, refuses how we ask (the model, its
// parameters, the account), and not what: error bodies do not tell these apart, as the same type
// and code stand for both, and proxies drop them.
ChatRequest control_question(const ChatRequest& request);

// Asks, and asks again what may pass (Cause): after a pause that grows and is jittered
// ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015: half of it is fixed), and is no
// shorter than what the server asks for. A request that is refused, while the control question is
// answered, is a refusal. External error: asking again did not help, or the server asks for more
// than five minutes. Bad input: what is the user's to mend; the hint names `key_variable`. Neither
// the key nor what looks like it is in any message, or in a refusal.
Result<Exchange> converse(Http& http, const ChatRequest& request, const std::string& key,
                          const std::string& key_variable, const Conduct& conduct);

// A key as it comes from an environment variable: without blanks around it. Bad input: none is
// there, or it cannot stand in a header. An empty `variable` asks for no key.
Result<std::string> usable_key(const std::string& variable, const char* value);

// Our own rate limit, which several processes share by a small file: attempts of one model start at
// least 60 / requests_per_minute seconds apart (the generic cell rate algorithm of ITU-T I.371
// without a burst). `state` is the file's text, the wall clock's seconds at which the last attempt
// starts; what is none, or lies further ahead than a queue could, counts as nothing.
struct Turn {
  double start = 0;   // when ours starts, in seconds of the same clock
  std::string state;  // to be written before the next one reads
};
Turn next_turn(std::string_view state, double now, double requests_per_minute);

}  // namespace evolve::llm
