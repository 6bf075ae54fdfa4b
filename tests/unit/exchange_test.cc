// Tests of an exchange with a server in memory that plays a script: which requests are sent again,
// and which are not.
#include "engine/llm/exchange.h"

#include <fmt/format.h>

#include "engine/llm/record.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using namespace evolve::llm;
using nlohmann::json;
using tests::FakeHttp;

namespace {

const std::string key = "sk-proj-abcdefghijklmnop";
const std::string good =
    "data: {\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":"
    "\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":"
    "200}}\n\ndata: [DONE]\n\n";

ChatRequest request_of() {
  ChatRequest out;
  out.base_url = "http://host/v1";
  out.model = "m";
  out.messages = {{"user", "hello"}};
  out.max_tokens = 10;
  return out;
}

struct Conversation {
  FakeHttp http;
  std::vector<double> pauses;
  double now = 0;
  int turns = 0;
  int tries = 5;

  Result<Exchange> run(uint64_t seed = 1) {
    Conduct conduct;
    conduct.patience = {[this](double seconds) { pauses.push_back(seconds); }, tries, 1};
    conduct.monotonic_seconds = [this] { return now += 2; };
    conduct.take_turn = [this]() -> Status {
      ++turns;
      return {};
    };
    conduct.random_seed = seed;
    conduct.most_seconds = 60;
    conduct.most_silence = 30;
    return converse(http, request_of(), key, "MODEL_KEY", conduct);
  }
};

}  // namespace

TEST_CASE("an answer at once is one attempt") {
  Conversation one;
  one.http.answers = {FakeHttp::of(200, good)};
  auto exchange = one.run();
  REQUIRE(exchange);
  CHECK(exchange->reply.text == "hi");
  CHECK(exchange->attempts.size() == 1);
  CHECK(exchange->seconds == 2);
  CHECK(one.http.asked.front().most_seconds == 60);
  CHECK(one.http.asked.front().most_silence == 30);
}

TEST_CASE("a request with a passing fault is sent again, and each attempt is kept") {
  Conversation one;
  one.http.answers = {
      FakeHttp::of(429, R"({"error":{"message":"slow down"}})", 17), FakeHttp::of(500, "oops"),
      FakeHttp::of(529, R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})"),
      FakeHttp::broken("timed out", good.substr(0, 40)), FakeHttp::of(200, good)};
  auto exchange = one.run();
  REQUIRE(exchange);
  std::vector<std::string> outcomes;
  for (const Attempt& attempt : exchange->attempts) outcomes.push_back(attempt.outcome);
  CHECK(outcomes == std::vector<std::string>{"HTTP 429: slow down", "HTTP 500: oops",
                                             "HTTP 529: busy", "timed out", "ok"});
  CHECK(one.turns == 5);
  REQUIRE(one.pauses.size() == 4);
  CHECK(one.pauses[0] == 17);  // the pause that the server asks for
  for (size_t i = 1; i < one.pauses.size(); ++i) {
    const auto most = static_cast<double>(1 << i);
    CHECK(one.pauses[i] >= most / 2);
    CHECK(one.pauses[i] < most);
  }
}

TEST_CASE("a stream that ends early is asked for again") {
  Conversation one;
  one.http.answers = {FakeHttp::of(200, good.substr(0, good.find("data: {\"choices\":[],"))
                                            .replace(good.find("\"stop\""), 6, "null")),
                      FakeHttp::of(200, good)};
  auto exchange = one.run();
  REQUIRE(exchange);
  CHECK(exchange->attempts.front().outcome == "the stream ended early");
  CHECK(exchange->attempts.front().status == 200);
}

TEST_CASE("pauses are the same only for the same seed") {
  auto pauses = [](uint64_t seed) {
    Conversation one;
    (void)one.run(seed);
    return one.pauses;
  };
  CHECK(pauses(1) == pauses(1));
  CHECK(pauses(1) != pauses(2));
}

TEST_CASE("a fault that outlasts the attempts is external") {
  Conversation one;
  one.tries = 3;
  auto exchange = one.run();
  REQUIRE(!exchange);
  CHECK(exchange.error().code == ErrorCode::external);
  CHECK(exchange.error().message ==
        "http://host/v1/chat/completions: connection refused (3 attempts)");
  CHECK(one.http.asked.size() == 3);
}

TEST_CASE("a client does not wait for a server that asks for an hour") {
  Conversation one;
  one.http.answers = {FakeHttp::of(429, "later", 3600)};
  auto exchange = one.run();
  REQUIRE(!exchange);
  CHECK(exchange.error().code == ErrorCode::external);
  CHECK(one.pauses.empty());
}

TEST_CASE(
    "a request with a lasting fault is not sent again, and the message does not contain the key") {
  for (int status : {401, 402, 403, 404}) {
    Conversation one;
    one.http.answers = {FakeHttp::of(
        status, R"({"error":{"message":"Incorrect API key: )" + key + R"w( (sk-pr**op)"}})w")};
    auto exchange = one.run();
    REQUIRE(!exchange);
    CHECK(exchange.error().code == ErrorCode::bad_input);
    CHECK(one.http.asked.size() == 1);
    CHECK(exchange.error().message.find("Incorrect API key: *** (***)") != std::string::npos);
    const bool is_about_key = status == 401 || status == 403;
    CHECK((exchange.error().hint.find("MODEL_KEY") != std::string::npos) == is_about_key);
  }
}

TEST_CASE("an error that only this request gets is a refusal") {
  for (int status : {400, 413, 422}) {
    Conversation one;
    one.http.answers = {
        FakeHttp::of(status, R"({"error":{"message":"too long for )" + key + R"("}})"),
        FakeHttp::of(503, "busy"), FakeHttp::of(200, good)};
    auto exchange = one.run();
    REQUIRE(exchange);
    CHECK(exchange->refusal == fmt::format("HTTP {}: too long for ***", status));
    std::vector<std::pair<int, bool>> attempts;
    for (const Attempt& attempt : exchange->attempts)
      attempts.emplace_back(attempt.status, attempt.is_control);
    CHECK(attempts == std::vector<std::pair<int, bool>>{{status, false}, {503, true}, {200, true}});
    CHECK(one.pauses.size() == 1);
    // The control request differs only in its messages.
    json asked = json::parse(one.http.asked.front().body);
    json control = json::parse(one.http.asked.back().body);
    CHECK(control["messages"] == json::parse(R"([{"role":"user","content":"Say yes."}])"));
    asked.erase("messages");
    control.erase("messages");
    CHECK(asked == control);

    const json record = exchange_record({"v0007", request_of()}, *exchange, key);
    CHECK(record["verdict"] == "rejected");
    CHECK(record["kind"] == "refused");
    CHECK(record["reason"] == *exchange->refusal);
    CHECK(record["tokens"]["input"] == 1000);
    CHECK(record["attempts"][2]["control"] == true);
    CHECK(!record.contains("text"));
  }
}

TEST_CASE("an error that any request gets is for the user to mend") {
  const std::string unsupported =
      R"({"error":{"message":"Unsupported parameter: 'max_tokens'","param":"max_tokens"}})";
  Conversation one;
  one.http.answers = {FakeHttp::of(400, unsupported), FakeHttp::of(400, "another")};
  auto exchange = one.run();
  REQUIRE(!exchange);
  CHECK(exchange.error().code == ErrorCode::bad_input);
  CHECK(exchange.error().message.ends_with("HTTP 400: Unsupported parameter: 'max_tokens'"));
  CHECK(exchange.error().hint ==
        "a short test question is rejected, too: check the model in llm.json");
  CHECK(one.http.asked.size() == 2);
}

TEST_CASE("a refusal is unknown while the control question has no answer") {
  Conversation one;
  one.tries = 2;
  one.http.answers = {FakeHttp::of(400, "no"), FakeHttp::of(500, "oops"),
                      FakeHttp::of(500, "oops")};
  auto fault = one.run();
  REQUIRE(!fault);
  CHECK(fault.error().code == ErrorCode::external);
  Conversation other;
  other.http.answers = {FakeHttp::of(400, "no"), FakeHttp::of(401, "who?")};
  auto unknown = other.run();
  REQUIRE(!unknown);
  CHECK(unknown.error().code == ErrorCode::bad_input);
  CHECK(unknown.error().message.ends_with("HTTP 401: who?"));
}

TEST_CASE("an account without money is not asked again") {
  Conversation one;
  one.http.answers = {
      FakeHttp::of(429, R"({"error":{"message":"quota","code":"insufficient_quota"}})")};
  auto exchange = one.run();
  REQUIRE(!exchange);
  CHECK(exchange.error().code == ErrorCode::bad_input);
  CHECK(one.http.asked.size() == 1);
}

TEST_CASE("a key is the value of the variable, without blanks around it") {
  CHECK(*usable_key("K", " abc\n") == "abc");
  CHECK(usable_key("", nullptr)->empty());
  CHECK(usable_key("K", nullptr).error().message ==
        "environment variable 'K': not set, but the model's key is expected in it");
  auto broken = usable_key("K", "ab\r\nX-Header: c");
  REQUIRE(!broken);
  CHECK(broken.error().code == ErrorCode::bad_input);
  CHECK(broken.error().message.find("X-Header") == std::string::npos);
}

TEST_CASE("turns at a model are as far apart as its limit says") {
  Turn first = next_turn("", 1000, 30);
  CHECK(first.start == 1000);
  Turn second = next_turn(first.state, 1000.5, 30);
  CHECK(second.start == 1002);
  CHECK(next_turn(second.state, 2000, 30).start == 2000);
  // The clock may have been set back, or the file may be damaged.
  CHECK(next_turn("99999999\n", 1000, 30).start == 1000);
  CHECK(next_turn("nan", 1000, 30).start == 1000);
}

TEST_CASE("the record of an exchange has its tokens, and not the key") {
  Conversation one;
  one.http.answers = {FakeHttp::of(503, "key " + key), FakeHttp::of(200, good)};
  auto exchange = one.run();
  REQUIRE(exchange);
  exchange->reply.text += key;
  const Question question = {"v0007", request_of()};
  const json record = exchange_record(question, *exchange, key);
  CHECK(record["tokens"] ==
        json::parse(R"({"input":1000,"output":200,"cached_input":0,"estimated":false})"));
  CHECK(record["attempts"].size() == 2);
  CHECK(record["request_digest"] == digest_of_request(request_record(question)));
  CHECK(record.dump().find(key) == std::string::npos);
  CHECK(record["text"] == "hi***");
}

TEST_CASE("two variants with the same words are two questions, and each is read back") {
  const Question one = {"v0007", request_of()}, other = {"v0008", request_of()};
  CHECK(digest_of_request(request_record(one)) != digest_of_request(request_record(other)));
  auto read = read_question(request_record(one));
  REQUIRE(read);
  CHECK(request_record(*read) == request_record(one));
  auto nothing = read_question(request_record({"v0009", std::nullopt}));
  REQUIRE(nothing);
  CHECK(!nothing->request);
  CHECK(!read_question(json::object()));
}
