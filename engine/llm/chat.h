// Chat with a language model, whoever serves it: requests as HTTP, and replies, whole or streamed.
//
// Two forms: OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat), which
// vLLM, SGLang, Ollama, OpenRouter and LiteLLM speak, too; and Anthropic's messages
// (https://docs.anthropic.com/en/api/messages, .../messages-streaming).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/http.h"
#include "engine/core/result.h"
#include "engine/llm/events.h"

namespace evolve::llm {

enum class Api { openai, anthropic };

struct Message {
  std::string role;  // "user" or "assistant"
  std::string content;
};

struct ChatRequest {
  Api api = Api::openai;
  std::string base_url;  // of OpenAI's form it ends with "/v1", of Anthropic's it does not
  std::string model;
  std::string system;  // empty: none
  std::vector<Message> messages;
  int64_t max_tokens = 0;  // of the reply
  // OpenAI's own reasoning models call it "max_completion_tokens", and refuse the other name.
  std::string max_tokens_key = "max_tokens";
  std::optional<double> temperature;
  std::optional<int64_t> seed;  // OpenAI's form alone
  bool stream = true;
};

// How many tokens a text is, as we estimate it: a token of code is some three bytes or more with
// the tokenizers of today, so that the estimate is rather too large.
constexpr size_t kBytesPerToken = 3;
int64_t estimated_tokens(size_t bytes);

// The request as it stands in request.json; and read back, an external error where it is not one.
nlohmann::json chat_record(const ChatRequest& request);
Result<ChatRequest> read_chat_record(const nlohmann::json& record);

// The call, without `take` and limits. An empty key: none is sent.
HttpRequest http_request(const ChatRequest& request, const std::string& key);

enum class Finish { stop, length, filtered, other };
const char* finish_name(Finish finish);

struct Reply {
  std::string text;
  Finish finish = Finish::other;
  int64_t input_tokens = 0;  // cached ones too; 0: not told
  int64_t output_tokens = 0;
  int64_t cached_input_tokens = 0;  // of the input: read from the provider's cache
  std::string model;                // as the server calls it
  bool is_cut_off = false;          // longer than we read
};

// What is read of a reply, whatever its length; and of a stream, in which each token is wrapped in
// some 300 bytes.
constexpr size_t kMostReplyBytes = size_t{8} << 20;
constexpr size_t kMostStreamBytes = size_t{64} << 20;

// What there is no reply for.
enum class Cause {
  passing,  // may be otherwise in a moment: no answer, too many requests, an error of the server's
  request,  // what was asked, or how: the same will be refused again
  setup,    // the user's to mend: the key, the address, the model's name, an account without money
};
// Of an answer that is no success, by its status; 0: there was none.
Cause cause_of_status(int status);

// Why there is no reply: what the server says.
struct ChatError {
  std::string message;
  Cause cause = Cause::setup;
};

// Reads an answer that is a success as it comes. Servers that were asked for a stream and send a
// whole answer, or the other way round, are understood.
class ReplyReader {
 public:
  explicit ReplyReader(Api api);

  // False: the reply is at its end, or longer than we read.
  bool add(std::string_view bytes);
  // The answer is at its end. A broken-off stream, or what is no reply, is a passing error.
  std::optional<ChatError> finish();
  // REQUIRES: finish() gave no error.
  [[nodiscard]] const Reply& reply() const { return reply_; }

 private:
  void take_event(std::string_view data);
  void take_openai(const nlohmann::json& event);
  void take_anthropic(const nlohmann::json& event);
  void take_finish(const nlohmann::json& reason);
  void take_usage(const nlohmann::json& usage);
  std::optional<ChatError> finish_whole();

  Api api_;
  EventReader events_;
  std::string whole_;  // where it is no stream
  size_t received_ = 0;
  std::optional<bool> is_stream_;
  bool is_finished_ = false;  // a reason is told
  bool is_done_ = false;      // "[DONE]", "message_stop"
  std::optional<ChatError> error_;
  Reply reply_;
};

// What a server says in an answer that is no success; its start where it is no JSON.
std::string error_words(std::string_view body);

// The text with "***" in place of the key.
std::string without_exactly(std::string_view text, const std::string& key);
// The text without the key, and without words that look like one: servers like to repeat a part of
// it ("Incorrect API key provided: sk-ab***yz").
std::string without_key(std::string_view text, const std::string& key);

}  // namespace evolve::llm
