#include "engine/llm/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

constexpr const char* kAnthropicVersion = "2023-06-01";
constexpr size_t kMostErrorBytes = 500;  // of a server's message

std::string dump(const json& value) {
  return json_line(value);
}

// Returns the text of a message's content. The content is a string, or a list of parts, some of
// which may have no text.
std::string content_of(const json& content) {
  if (!content.is_array()) return text_in(content);
  std::string out;
  for (const json& part : content) {
    const std::string type = text_at(part, "type");
    if (type == "text" || type.empty()) out += text_at(part, "text");
  }
  return out;
}

json messages_of(const ChatRequest& request, bool has_system) {
  json out = json::array();
  if (has_system) out.push_back({{"role", "system"}, {"content", request.system}});
  for (const Message& one : request.messages) {
    out.push_back({{"role", one.role}, {"content", one.content}});
  }
  return out;
}

json body_of(const ChatRequest& request) {
  const bool is_openai = request.api == ChatApi::openai;
  json out = {{"model", request.model},
              {"messages", messages_of(request, is_openai && !request.system.empty())},
              {request.max_tokens_key, request.max_tokens},
              {"stream", request.stream}};
  if (request.temperature) out["temperature"] = *request.temperature;
  if (is_openai) {
    if (request.seed) out["seed"] = *request.seed;
    if (request.stream) out["stream_options"] = {{"include_usage", true}};
  } else if (!request.system.empty()) {
    out["system"] = request.system;
  }
  return out;
}

// Returns the cause of an error within an answer that began as a success. The status in the error's
// code decides, or else the error's type. An unknown error counts as passing.
ChatCause cause_of_error(const json& error) {
  const json& code = member(error, "code");
  const std::string digits = code.is_number_integer() ? json_line(code) : text_in(code);
  constexpr size_t kDigits = 3;
  const bool is_status =
      digits.size() == kDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_status) return cause_of_status(std::stoi(digits));
  const std::string type = text_at(error, "type");
  if (type == "invalid_request_error" || type == "request_too_large") return ChatCause::request;
  static const std::array<const char*, 4> kSetup = {"authentication_error", "permission_error",
                                                    "not_found_error", "billing_error"};
  const bool is_setup = std::find(kSetup.begin(), kSetup.end(), type) != kSetup.end();
  return is_setup ? ChatCause::setup : ChatCause::passing;
}

// Returns the error message in an answer, in any of the forms in use. Empty: there is no message.
std::string message_of(const json& body) {
  const json& error = member(body, "error");
  if (error.is_string()) return text_in(error);
  std::string message = text_at(error, "message");
  if (message.empty()) message = text_at(body, "message");
  if (message.empty()) message = text_at(body, "detail");
  return message;
}

constexpr std::string_view kHidden = "***";

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '*' || c == '.';
}

// Whether a word has the common form of a key, holds a part of our key, or is our key with its
// middle hidden.
bool looks_like_key(const std::string& word, const std::string& key) {
  constexpr size_t kShortest = 8, kPart = 6, kEnd = 2;
  if (word.starts_with("sk-") && word.size() >= kShortest) return true;
  if (key.size() < kPart) return false;
  const bool is_masked =
      word.find("**") != std::string::npos || word.find("..") != std::string::npos;
  const bool has_end =
      word.starts_with(key.substr(0, kEnd)) || word.ends_with(key.substr(key.size() - kEnd));
  if (is_masked && has_end) return true;
  for (size_t at = 0; at + kPart <= key.size(); ++at) {
    if (word.find(key.substr(at, kPart)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

int64_t estimated_tokens(size_t bytes) {
  return static_cast<int64_t>((bytes + kBytesPerToken - 1) / kBytesPerToken);
}

json chat_record(const ChatRequest& request) {
  json out = {{"api", request.api == ChatApi::openai ? "openai" : "anthropic"},
              {"base_url", request.base_url},
              {"model", request.model},
              {"system", request.system},
              {"messages", messages_of(request, false)},
              {"max_tokens", request.max_tokens},
              {"max_tokens_key", request.max_tokens_key},
              {"stream", request.stream}};
  if (request.temperature) out["temperature"] = *request.temperature;
  if (request.seed) out["seed"] = *request.seed;
  return out;
}

Result<ChatRequest> read_chat_record(const json& record) {
  ChatRequest out;
  const std::string api = text_at(record, "api");
  if (api != "openai" && api != "anthropic") return external("request: the api is missing");
  out.api = api == "openai" ? ChatApi::openai : ChatApi::anthropic;
  out.base_url = text_at(record, "base_url");
  out.model = text_at(record, "model");
  out.system = text_at(record, "system");
  for (const json& one : member(record, "messages")) {
    out.messages.push_back({text_at(one, "role"), text_at(one, "content")});
  }
  out.max_tokens = count_at(record, "max_tokens");
  if (member(record, "max_tokens_key").is_string())
    out.max_tokens_key = text_at(record, "max_tokens_key");
  if (member(record, "temperature").is_number())
    out.temperature = member(record, "temperature").get<double>();
  if (member(record, "seed").is_number_integer()) out.seed = member(record, "seed").get<int64_t>();
  out.stream = member(record, "stream") == true;
  if (out.base_url.empty() || out.model.empty() || out.messages.empty() || out.max_tokens == 0)
    return external("request: base_url, model, messages or max_tokens is missing");
  return out;
}

HttpRequest http_request(const ChatRequest& request, const std::string& key) {
  std::string_view base = request.base_url;
  while (base.ends_with('/')) base.remove_suffix(1);
  const bool is_openai = request.api == ChatApi::openai;
  HttpRequest out;
  out.method = HttpRequest::Method::post;
  out.url = fmt::format("{}{}", base, is_openai ? "/chat/completions" : "/v1/messages");
  out.body = dump(body_of(request));
  out.headers = {"Content-Type: application/json"};
  if (request.stream) out.headers.emplace_back("Accept: text/event-stream");
  if (!is_openai) out.headers.push_back(fmt::format("anthropic-version: {}", kAnthropicVersion));
  if (!key.empty()) {
    out.headers.push_back(
        fmt::format("{}{}", is_openai ? "Authorization: Bearer " : "x-api-key: ", key));
  }
  return out;
}

ChatCause cause_of_status(int status) {
  constexpr int kBadRequest = 400, kTimeout = 408, kTooLarge = 413, kUnprocessable = 422,
                kTooMany = 429, kServerError = 500;
  if (status == kBadRequest || status == kTooLarge || status == kUnprocessable)
    return ChatCause::request;
  const bool is_passing =
      status == 0 || status == kTimeout || status == kTooMany || status >= kServerError;
  return is_passing ? ChatCause::passing : ChatCause::setup;
}

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::stop: return "stop";
    case Finish::length: return "length";
    case Finish::filtered: return "filtered";
    case Finish::other: return "other";
  }
  return "";
}

ReplyReader::ReplyReader(ChatApi api)
    : api_(api), events_([this](std::string_view, std::string_view data) { take_event(data); }) {}

bool ReplyReader::add(std::string_view bytes) {
  const size_t most = is_stream_ == true ? kMostStreamBytes : kMostReplyBytes;
  if (bytes.size() > most - std::min(received_, most)) {
    bytes = bytes.substr(0, most - std::min(received_, most));
    reply_.is_cut_off = true;
  }
  received_ += bytes.size();
  if (!is_stream_) {
    // A whole answer is a JSON object; no line of a stream begins with '{'.
    whole_.append(bytes);
    const size_t start = whole_.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (start == std::string::npos) return !reply_.is_cut_off;
    is_stream_ = whole_[start] != '{';
    if (*is_stream_) events_.add(std::exchange(whole_, {}));
  } else if (*is_stream_) {
    events_.add(bytes);
  } else {
    whole_.append(bytes);
  }
  if (reply_.text.size() > kMostReplyBytes) {
    reply_.text.resize(kMostReplyBytes);
    reply_.is_cut_off = true;
  }
  return !is_done_ && !error_ && !reply_.is_cut_off;
}

std::optional<ChatError> ReplyReader::finish() {
  if (is_stream_ != true) return finish_whole();
  if (!is_done_) events_.finish();
  if (error_) return error_;
  if (reply_.is_cut_off) {
    reply_.finish = Finish::length;
  } else if (!is_done_ && !is_finished_) {
    return ChatError{"the stream ended early", ChatCause::passing};
  }
  return std::nullopt;
}

std::optional<ChatError> ReplyReader::finish_whole() {
  if (reply_.is_cut_off) {
    reply_.finish = Finish::length;
    return std::nullopt;
  }
  const json body = json_or_null(whole_);
  if (!body.is_object()) return ChatError{"the answer is not JSON", ChatCause::passing};
  if (!member(body, "error").is_null()) {
    take_event(whole_);
    return error_;
  }
  reply_.model = text_at(body, "model");
  take_usage(member(body, "usage"));
  if (api_ == ChatApi::anthropic) {
    reply_.text = content_of(member(body, "content"));
    take_finish(member(body, "stop_reason"));
    if (member(body, "content").is_array()) return std::nullopt;
  } else {
    const json& choices = member(body, "choices");
    if (choices.is_array() && !choices.empty()) {
      reply_.text = content_of(member(member(choices.front(), "message"), "content"));
      take_finish(member(choices.front(), "finish_reason"));
      return std::nullopt;
    }
  }
  return ChatError{"the answer is not a reply: " + error_words(whole_), ChatCause::passing};
}

void ReplyReader::take_event(std::string_view data) {
  if (data == "[DONE]") {
    is_done_ = true;
    return;
  }
  const json event = json_or_null(data);
  if (!event.is_object()) {
    error_ = ChatError{"an event of the stream is not JSON", ChatCause::passing};
    return;
  }
  if (!member(event, "error").is_null()) {
    const json& error = member(event, "error");
    const std::string type = text_at(error, "type");
    std::string message = message_of(event);
    if (message.empty()) message = type.empty() ? "an error without a message" : type;
    error_ = ChatError{one_line(message, kMostErrorBytes), cause_of_error(error)};
    return;
  }
  if (api_ == ChatApi::openai) {
    take_openai(event);
  } else {
    take_anthropic(event);
  }
}

void ReplyReader::take_openai(const json& event) {
  if (reply_.model.empty()) reply_.model = text_at(event, "model");
  take_usage(member(event, "usage"));
  const json& choices = member(event, "choices");
  if (!choices.is_array() || choices.empty()) return;
  reply_.text += content_of(member(member(choices.front(), "delta"), "content"));
  take_finish(member(choices.front(), "finish_reason"));
}

void ReplyReader::take_anthropic(const json& event) {
  const std::string type = text_at(event, "type");
  if (type == "message_start") {
    reply_.model = text_in(member(member(event, "message"), "model"));
    take_usage(member(member(event, "message"), "usage"));
  } else if (type == "content_block_start") {
    reply_.text += text_in(member(member(event, "content_block"), "text"));
  } else if (type == "content_block_delta") {
    // The deltas of thinking and of tools do not have a "text".
    reply_.text += text_in(member(member(event, "delta"), "text"));
  } else if (type == "message_delta") {
    take_finish(member(member(event, "delta"), "stop_reason"));
    take_usage(member(event, "usage"));
  } else if (type == "message_stop") {
    is_done_ = true;
  }
}

void ReplyReader::take_finish(const json& reason) {
  const std::string name = text_in(reason);
  if (name.empty()) return;
  is_finished_ = true;
  reply_.finish = Finish::other;
  if (name == "stop" || name == "end_turn" || name == "stop_sequence") reply_.finish = Finish::stop;
  if (name == "length" || name == "max_tokens" || name == "model_context_window_exceeded")
    reply_.finish = Finish::length;
  if (name == "content_filter" || name == "refusal") reply_.finish = Finish::filtered;
}

void ReplyReader::take_usage(const json& usage) {
  if (!usage.is_object()) return;
  auto put = [](int64_t count, int64_t& into) {
    if (count > 0) into = count;
  };
  if (api_ == ChatApi::openai) {
    put(count_at(usage, "prompt_tokens"), reply_.input_tokens);
    put(count_at(usage, "completion_tokens"), reply_.output_tokens);
    put(count_at(member(usage, "prompt_tokens_details"), "cached_tokens"),
        reply_.cached_input_tokens);
    return;
  }
  // Anthropic's `input_tokens` leave out tokens that were read from the cache or put there.
  const int64_t cached = count_at(usage, "cache_read_input_tokens");
  const int64_t stored = count_at(usage, "cache_creation_input_tokens");
  if (usage.contains("input_tokens"))
    put(count_at(usage, "input_tokens") + cached + stored, reply_.input_tokens);
  put(cached, reply_.cached_input_tokens);
  put(count_at(usage, "output_tokens"), reply_.output_tokens);
}

std::string error_words(std::string_view body) {
  const json value = json_or_null(body);
  const std::string message = message_of(value);
  return one_line(message.empty() ? body : std::string_view(message), kMostErrorBytes);
}

std::string without_exactly(std::string_view text, const std::string& key) {
  std::string out(text);
  if (key.empty()) return out;
  for (size_t at = 0; (at = out.find(key, at)) != std::string::npos; at += kHidden.size())
    out.replace(at, key.size(), kHidden);
  return out;
}

std::string without_key(std::string_view text, const std::string& key) {
  const std::string whole = without_exactly(text, key);
  std::string out;
  for (size_t at = 0; at < whole.size();) {
    size_t end = at;
    while (end < whole.size() && is_key_letter(whole[end])) ++end;
    const std::string word = whole.substr(at, end - at);
    out += looks_like_key(word, key) ? kHidden : std::string_view(word);
    if (end < whole.size()) out += whole[end];
    at = end + 1;
  }
  return out;
}

}  // namespace evolve::llm
