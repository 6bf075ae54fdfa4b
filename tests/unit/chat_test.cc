// Tests of both chat APIs: requests, and replies that are whole, streamed, cut anywhere, or broken.
#include "engine/llm/chat.h"

#include <fmt/format.h>

#include "engine/search/space/random.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::llm;
using nlohmann::json;

namespace {

// Streams as the APIs' documents show them.
const std::string openai_stream =
    ": keep-alive\n\n"
    R"(data: {"id":"c1","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null})"
    "\n\n"
    R"(data: {"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]})"
    "\n\n"
    R"(data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Grüße, "},"finish_reason":null}]})"
    "\r\n\r\n"
    R"(data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Welt\n"},"finish_reason":null}]})"
    "\n\n"
    R"(data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
    "\n\n"
    R"(data: {"id":"c1","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":5}}})"
    "\n\ndata: [DONE]\n\n";

const std::string anthropic_stream =
    "event: message_start\n"
    R"(data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m-2","stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":100,"cache_creation_input_tokens":3,"output_tokens":1}}})"
    "\n\nevent: content_block_start\n"
    R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}})"
    "\n\nevent: content_block_delta\n"
    R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})"
    "\n\nevent: ping\n"
    R"(data: {"type":"ping"})"
    "\n\nevent: content_block_start\n"
    R"(data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})"
    "\n\nevent: content_block_delta\n"
    R"(data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße, "}})"
    "\n\nevent: content_block_delta\n"
    R"(data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Welt\n"}})"
    "\n\nevent: content_block_stop\n"
    R"(data: {"type":"content_block_stop","index":1})"
    "\n\nevent: message_delta\n"
    R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":15}})"
    "\n\nevent: message_stop\n"
    R"(data: {"type":"message_stop"})"
    "\n\n";

struct Read {
  Reply reply;
  std::optional<ChatError> error;
};

Read read_pieces(ChatApi api, const std::vector<std::string_view>& pieces) {
  ReplyReader reader(api);
  for (std::string_view piece : pieces) {
    if (!reader.add(piece)) break;
  }
  auto error = reader.finish();
  return {error ? Reply{} : reader.reply(), error};
}

Read read_all(ChatApi api, const std::string& text) {
  return read_pieces(api, {text});
}

void check_openai(const Read& read) {
  REQUIRE(!read.error);
  CHECK(read.reply.text == "Grüße, Welt\n");
  CHECK(read.reply.finish == Finish::stop);
  CHECK(read.reply.input_tokens == 19);
  CHECK(read.reply.output_tokens == 10);
  CHECK(read.reply.cached_input_tokens == 5);
  CHECK(read.reply.model == "m-1");
}

void check_anthropic(const Read& read) {
  REQUIRE(!read.error);
  CHECK(read.reply.text == "Grüße, Welt\n");
  CHECK(read.reply.finish == Finish::length);
  CHECK(read.reply.input_tokens == 128);
  CHECK(read.reply.output_tokens == 15);
  CHECK(read.reply.cached_input_tokens == 100);
  CHECK(read.reply.model == "m-2");
}

ChatRequest request_of(ChatApi api) {
  ChatRequest out;
  out.api = api;
  out.base_url = api == ChatApi::openai ? "http://host/v1/" : "http://host";
  out.model = "m";
  out.system = "be brief";
  out.messages = {{"user", "hello"}};
  out.max_tokens = 100;
  out.temperature = 0.5;
  out.seed = 7;
  return out;
}

}  // namespace

TEST_CASE("OpenAI's form has the system as a message, and asks for usage in a stream") {
  const HttpRequest call = http_request(request_of(ChatApi::openai), "secret");
  CHECK(call.method == HttpRequest::Method::post);
  CHECK(call.url == "http://host/v1/chat/completions");
  CHECK(call.headers == std::vector<std::string>{"Content-Type: application/json",
                                                 "Accept: text/event-stream",
                                                 "Authorization: Bearer secret"});
  CHECK(json::parse(call.body) ==
        json::parse(R"({"model":"m","messages":[{"role":"system","content":"be brief"},
    {"role":"user","content":"hello"}],"max_tokens":100,"temperature":0.5,"seed":7,"stream":true,
    "stream_options":{"include_usage":true}})"));
}

TEST_CASE("Anthropic's form has the system apart, its version, and no seed") {
  const HttpRequest call = http_request(request_of(ChatApi::anthropic), "secret");
  CHECK(call.url == "http://host/v1/messages");
  CHECK(call.headers ==
        std::vector<std::string>{"Content-Type: application/json", "Accept: text/event-stream",
                                 "anthropic-version: 2023-06-01", "x-api-key: secret"});
  CHECK(json::parse(call.body) ==
        json::parse(R"({"model":"m","system":"be brief","messages":[{"role":"user",
    "content":"hello"}],"max_tokens":100,"temperature":0.5,"stream":true})"));
}

TEST_CASE("without a key no header has one") {
  for (const std::string& header : http_request(request_of(ChatApi::openai), "").headers)
    CHECK(header.find("Authorization") == std::string::npos);
}

TEST_CASE("a request is the same when read back from its record") {
  for (ChatApi api : {ChatApi::openai, ChatApi::anthropic}) {
    auto read = read_chat_record(chat_record(request_of(api)));
    REQUIRE(read);
    CHECK(http_request(*read, "k").body == http_request(request_of(api), "k").body);
  }
  CHECK(!read_chat_record(json::parse(R"({"api":"openai"})")));
}

TEST_CASE("a stream may be cut anywhere") {
  for (size_t cut = 0; cut <= openai_stream.size(); ++cut) {
    const std::string_view all = openai_stream;
    check_openai(read_pieces(ChatApi::openai, {all.substr(0, cut), all.substr(cut)}));
  }
  for (size_t cut = 0; cut <= anthropic_stream.size(); ++cut) {
    const std::string_view all = anthropic_stream;
    check_anthropic(read_pieces(ChatApi::anthropic, {all.substr(0, cut), all.substr(cut)}));
  }
}

TEST_CASE("a stream may come byte by byte, with any line ends") {
  for (const char* ends : {"\n", "\r\n", "\r"}) {
    std::string stream;
    for (char c : anthropic_stream) {
      if (c == '\n') {
        stream += ends;
      } else {
        stream += c;
      }
    }
    std::vector<std::string_view> bytes;
    for (size_t at = 0; at < stream.size(); ++at)
      bytes.push_back(std::string_view(stream).substr(at, 1));
    check_anthropic(read_pieces(ChatApi::anthropic, bytes));
  }
}

TEST_CASE(
    "an event's lines belong together wherever the stream is cut, and its end may be missing") {
  const std::string stream = "event: x\r\n: no\r\ndata: one\r\ndata:two\r\n\r\ndata: three";
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    std::vector<std::string> told;
    EventReader reader([&told](std::string_view name, std::string_view data) {
      told.push_back(fmt::format("{}|{}", name, data));
    });
    reader.add(std::string_view(stream).substr(0, cut));
    reader.add(std::string_view(stream).substr(cut));
    CHECK(told == std::vector<std::string>{"x|one\ntwo"});
    reader.finish();
    CHECK(told.back() == "|three");
  }
  std::string_view no_end = openai_stream;
  no_end.remove_suffix(std::string_view("\n\ndata: [DONE]\n\n").size());
  check_openai(read_pieces(ChatApi::openai, {no_end}));
}

TEST_CASE("a stream that ends before the model said why broke off") {
  const std::string no_finish =
      openai_stream.substr(0, openai_stream.find(R"("finish_reason":"stop")"));
  const std::string whole_events = no_finish.substr(0, no_finish.rfind("data:"));
  auto read = read_all(ChatApi::openai, whole_events);
  REQUIRE(read.error);
  CHECK(read.error->message == "the stream ended early");
  CHECK(read.error->cause == ChatCause::passing);
  // A stream that ends within an event, and a stream without events, broke off as well.
  CHECK(read_all(ChatApi::openai, no_finish).error->cause == ChatCause::passing);
  CHECK(read_all(ChatApi::anthropic, "").error->cause == ChatCause::passing);
}

TEST_CASE("a client does not wait for more after a stream's end") {
  ReplyReader reader(ChatApi::openai);
  CHECK(!reader.add(openai_stream));
  check_openai({reader.reply(), reader.finish()});
}

TEST_CASE("an error in a stream says whether another try may help") {
  auto overloaded = read_all(
      ChatApi::anthropic,
      "event: error\n"
      R"(data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"
      "\n\n");
  REQUIRE(overloaded.error);
  CHECK(overloaded.error->message == "Overloaded");
  CHECK(overloaded.error->cause == ChatCause::passing);
  auto wrong =
      read_all(ChatApi::openai,
               R"(data: {"error":{"message":"no such thing","type":"invalid_request_error"}})"
               "\n\n");
  REQUIRE(wrong.error);
  CHECK(wrong.error->cause == ChatCause::request);
  // A proxy passes errors on without a type, and with a status as the code.
  auto by_code = [](const std::string& code) {
    return read_all(ChatApi::openai,
                    R"(data: {"error":{"message":"x","type":"None","code":)" + code + "}}\n\n")
        .error->cause;
  };
  CHECK(by_code(R"("400")") == ChatCause::request);
  CHECK(by_code("401") == ChatCause::setup);
  CHECK(by_code("529") == ChatCause::passing);
  CHECK(by_code(R"("server_error")") == ChatCause::passing);
}

TEST_CASE("whole replies are read, also where a stream was asked for") {
  check_openai(read_all(ChatApi::openai, R"( {"model":"m-1","choices":[{"index":0,"message":
    {"role":"assistant","content":"Grüße, Welt\n"},"finish_reason":"stop"}],"usage":
    {"prompt_tokens":19,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":5}}})"));
  check_anthropic(read_all(ChatApi::anthropic, R"({"type":"message","model":"m-2","content":
    [{"type":"thinking","thinking":"hm"},{"type":"text","text":"Grüße, "},{"type":"text","text":"Welt\n"}],
    "stop_reason":"max_tokens","usage":{"input_tokens":25,"cache_read_input_tokens":100,
    "cache_creation_input_tokens":3,"output_tokens":15}})"));
  CHECK(read_all(ChatApi::openai, R"({"choices":[{"message":{"content":null},"finish_reason":
    "content_filter"}]})")
            .reply.finish == Finish::filtered);
  CHECK(read_all(ChatApi::anthropic, R"({"content":[],"stop_reason":"refusal"})").reply.finish ==
        Finish::filtered);
}

TEST_CASE("a text that is not a reply gives an error message") {
  CHECK(read_all(ChatApi::openai, "{\"choices\":[]}").error->cause == ChatCause::passing);
  CHECK(read_all(ChatApi::openai, "{\"choices\":").error->message == "the answer is not JSON");
  CHECK(read_all(ChatApi::openai, "<html>gateway</html>").error);
}

TEST_CASE("a reply that is too long is cut off, and said to be") {
  const std::string piece(1 << 20, 'x');
  ReplyReader reader(ChatApi::openai);
  int pieces = 0;
  const std::string event = "data: {\"choices\":[{\"delta\":{\"content\":\"" + piece + "\"}}]}\n\n";
  while (reader.add(event)) REQUIRE(++pieces < 20);
  REQUIRE(!reader.finish());
  CHECK(reader.reply().is_cut_off);
  CHECK(reader.reply().text.size() == kMostReplyBytes);
  CHECK(reader.reply().finish == Finish::length);
}

TEST_CASE("error bodies of all kinds are read for their message") {
  CHECK(error_words(R"({"error":{"message":"Rate limit\n reached","type":"x","code":"y"}})") ==
        "Rate limit reached");
  CHECK(error_words(R"({"type":"error","error":{"type":"x","message":"nope"}})") == "nope");
  CHECK(error_words(R"({"object":"error","message":"of vLLM"})") == "of vLLM");
  CHECK(error_words(R"({"detail":"Not Found"})") == "Not Found");
  CHECK(error_words(R"({"error":"plain"})") == "plain");
  CHECK(error_words("<html>\n502</html>") == "<html> 502</html>");
  CHECK(error_words(std::string(10000, 'x')).size() == 500);
}

TEST_CASE("no text keeps the key, or anything that looks like a key") {
  const std::string key = "sk-proj-abcdefghijklmnop/qrst+uvwxyz0123456789";
  CHECK(without_key("key " + key + " is wrong", key) == "key *** is wrong");
  CHECK(without_key("key sk-proj-****6789 is wrong", key) == "key *** is wrong");
  CHECK(without_key("Bearer abcdefgh.", "zzzzabcdefghzzzz") == "Bearer ***");
  CHECK(without_key("provided: zz**********zz", "zzzzabcdefghzzzz") == "provided: ***");
  CHECK(without_key("sk-ant-api03-otherkey", "") == "***");
  CHECK(without_key("the task-force is fine, sk-8 too", key) == "the task-force is fine, sk-8 too");
  CHECK(without_exactly("a" + key + "b" + key, key) == "a***b***");
}

TEST_CASE("no bytes crash the readers of streams and replies") {
  search::Random random(1);
  const std::vector<std::string> words = {"data: ", "event: ",   "\n",         "\n\n", "\r",   "{",
                                          "}",      "[DONE]",    "\"error\":", "null", "[[[[", ":",
                                          "\"",     "choices\"", "delta",      "\xff", "id: 3"};
  for (int i = 0; i < 3000; ++i) {
    const ChatApi api = random.below(2) == 0 ? ChatApi::openai : ChatApi::anthropic;
    std::string stream = random.below(3) == 0   ? openai_stream
                         : random.below(2) == 0 ? anthropic_stream
                                                : "";
    for (uint64_t edits = random.below(20); edits > 0; --edits) {
      const size_t at = random.below(stream.size() + 1);
      if (random.below(3) == 0) stream.resize(at);
      const std::string& word = words[random.below(words.size())];
      if (random.below(2) == 0) stream.insert(std::min(at, stream.size()), word);
      if (at < stream.size()) stream[at] = static_cast<char>(random.below(256));
    }
    ReplyReader reader(api);
    for (size_t at = 0; at < stream.size();) {
      const size_t piece = 1 + random.below(40);
      if (!reader.add(std::string_view(stream).substr(at, piece))) break;
      at += piece;
    }
    if (auto error = reader.finish()) CHECK(!error->message.empty());
    (void)error_words(stream);
    (void)without_key(stream, "abcdefghijklmn");
  }
}
