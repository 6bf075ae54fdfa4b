// Chat with a language model, whoever serves it: requests as HTTP, and replies, whole or streamed.
//
// The chat has two forms: OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat), which vLLM, SGLang, Ollama, OpenRouter and
// LiteLLM speak, too; and Anthropic's messages (https://docs.anthropic.com/en/api/messages,
// .../messages-streaming).
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

enum class ChatApi { openai, anthropic };

struct Message {
  std::string role;  // "user" or "assistant"
  std::string content;
};

struct ChatRequest {
  ChatApi api = ChatApi::openai;
  std::string base_url;  // ends with "/v1" in OpenAI's form, not in Anthropic's
  std::string model;
  std::string system;  // empty: none
  std::vector<Message> messages;
  int64_t max_tokens = 0;  // of the reply
  // The name of `max_tokens` in a request. OpenAI's own reasoning models call it
  // "max_completion_tokens", and refuse the other name.
  std::string max_tokens_key = "max_tokens";
  std::optional<double> temperature;
  std::optional<int64_t> seed;  // only in OpenAI's form
  bool stream = true;
};

// Returns the estimated number of tokens of a text. With today's tokenizers a token of code has
// about three bytes or more, so the estimate is too high rather than too low.
constexpr size_t kBytesPerToken = 3;
int64_t estimated_tokens(size_t bytes);

// Converts a request to the record in request.json, and back. External error: the record is not a
// request.
nlohmann::json chat_record(const ChatRequest& request);
Result<ChatRequest> read_chat_record(const nlohmann::json& record);

// Returns the HTTP request, without `take` and limits. An empty key: no key is sent.
HttpRequest http_request(const ChatRequest& request, const std::string& key);

enum class Finish { stop, length, filtered, other };
const char* finish_name(Finish finish);

struct Reply {
  std::string text;
  Finish finish = Finish::other;
  int64_t input_tokens = 0;  // cached ones too; 0: not reported
  int64_t output_tokens = 0;
  int64_t cached_input_tokens = 0;  // the part of the input read from the provider's cache
  std::string model;                // as the server calls it
  bool is_cut_off = false;          // the reply was longer than we read
};

// The maximum number of bytes that we read: of a reply, and of a stream. The limit of a stream is
// higher, because a stream wraps each token in some 300 bytes.
constexpr size_t kMostReplyBytes = size_t{8} << 20;
constexpr size_t kMostStreamBytes = size_t{64} << 20;

// The reason why there is no reply.
enum class ChatCause {
  passing,  // may pass in a moment: no answer, too many requests, an error of the server
  request,  // the request itself; the server will refuse the same request again
  setup,    // the user must fix the key, the address, the model's name or the account
};
// Returns the cause of a failure by the status of the answer. 0: there was no answer.
ChatCause cause_of_status(int status);

// The error in place of a reply. The message has the server's words if there are any.
struct ChatError {
  std::string message;
  ChatCause cause = ChatCause::setup;
};

// Reads a successful answer as it arrives. The reader also understands a server that was asked for
// a stream and sends a whole answer, or the other way round.
class ReplyReader {
 public:
  explicit ReplyReader(ChatApi api);

  // Reads more bytes. False: the reply has ended, holds an error, or is longer than we read.
  bool add(std::string_view bytes);
  // Ends the answer. Nullopt: there is a reply. A broken or unreadable answer is a passing error.
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

  ChatApi api_;
  EventReader events_;
  std::string whole_;  // the answer so far, unless it is a stream
  size_t received_ = 0;
  std::optional<bool> is_stream_;
  bool is_finished_ = false;  // a reason to finish has arrived
  bool is_done_ = false;      // "[DONE]", "message_stop"
  std::optional<ChatError> error_;
  Reply reply_;
};

// Returns the server's message in an answer that is not a success. Without a message, returns the
// start of the answer.
std::string error_words(std::string_view body);

// Returns the text with "***" in place of the key.
std::string without_exactly(std::string_view text, const std::string& key);
// Returns the text without the key, and without words that look like a key, because servers often
// repeat a part of the key ("Incorrect API key provided: sk-ab***yz").
std::string without_key(std::string_view text, const std::string& key);

}  // namespace evolve::llm
