// Tests of access to a bucket with the machine's own account, against a metadata server and a
// bucket in memory.
#include <fmt/format.h>

#include <algorithm>

#include "cache/account_http.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::cache;

namespace {

constexpr const char* kTokenUrl =
    "http://metadata.test/computeMetadata/v1/instance/service-accounts/default/token";

HttpResponse answer_of(int status, std::string body) {
  HttpResponse out;
  out.status = status;
  out.body = std::move(body);
  return out;
}

std::string token_text(const std::string& token, double expires_in) {
  return fmt::format(R"({{"access_token":"{}","expires_in":{},"token_type":"Bearer"}})", token,
                     expires_in);
}

// Plays both servers. The body of the bucket's answer is the last header of the request.
class FakeServers : public Http {
 public:
  HttpResponse metadata = answer_of(200, token_text("first", 3600));
  std::vector<std::string> refused;  // headers that the bucket rejects
  int times_asked = 0;               // requests to the metadata server
  std::vector<size_t> batches;       // requests in each batch to the bucket
  bool is_stopped = false;

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    if (requests.size() == 1 && requests[0].url == kTokenUrl) {
      ++times_asked;
      CHECK(requests[0].headers == std::vector<std::string>{"Metadata-Flavor: Google"});
      return {metadata};
    }
    batches.push_back(requests.size());
    std::vector<HttpResponse> out;
    for (const HttpRequest& request : requests) {
      const std::string shown = request.headers.empty() ? "" : request.headers.back();
      const bool is_refused = std::find(refused.begin(), refused.end(), shown) != refused.end();
      // Everybody may read the object `public`.
      out.push_back(answer_of(is_refused && request.url != "public" ? 401 : 200, shown));
    }
    return out;
  }
  void stop() override { is_stopped = true; }
};

struct Client {
  double now = 1000;
  FakeServers* servers = new FakeServers;  // owned by `http`
  AccountHttp http{std::unique_ptr<Http>(servers), "metadata.test", [this] { return now; }};

  std::vector<HttpResponse> ask(const std::vector<std::string>& urls) {
    std::vector<HttpRequest> requests(urls.size());
    for (size_t i = 0; i < urls.size(); ++i) requests[i].url = urls[i];
    return http.perform(requests);
  }
};

}  // namespace

TEST_CASE("a token is asked for once, shown with each request, and renewed before it expires") {
  Client client;
  for (const HttpResponse& answer : client.ask({"a", "b", "c"})) {
    CHECK(answer.body == "Authorization: Bearer first");
  }
  client.servers->metadata = answer_of(200, token_text("second", 3600));
  client.now += 3600 - 226;
  CHECK(client.ask({"a"})[0].body == "Authorization: Bearer first");
  CHECK(client.servers->times_asked == 1);
  client.now += 2;
  CHECK(client.ask({"a"})[0].body == "Authorization: Bearer second");
  CHECK(client.servers->times_asked == 2);
  CHECK(client.ask({}).empty());
}

TEST_CASE("what was turned down is asked again with another token, and nothing else is") {
  Client client;
  client.ask({"a"});
  client.servers->refused = {"Authorization: Bearer first"};
  client.servers->metadata = answer_of(200, token_text("second", 3600));
  client.servers->batches.clear();
  const auto answers = client.ask({"a", "public", "b"});
  CHECK(answers[0].body == "Authorization: Bearer second");
  CHECK(answers[1].body == "Authorization: Bearer first");
  CHECK(answers[2].body == "Authorization: Bearer second");
  CHECK(client.servers->batches == std::vector<size_t>{3, 2});
  CHECK(client.servers->times_asked == 2);
}

TEST_CASE("a request that is refused with a new token gets the refusal") {
  Client client;
  client.servers->refused = {"Authorization: Bearer first"};
  SECTION("the metadata server has no other") {}
  SECTION("the other is no better") {
    client.servers->refused.emplace_back("Authorization: Bearer second");
    client.ask({"public"});
    client.servers->metadata = answer_of(200, token_text("second", 3600));
  }
  SECTION("the metadata server has gone") {
    client.ask({"public"});
    client.servers->metadata = answer_of(503, "");
  }
  CHECK(client.ask({"a"})[0].status == 401);
  CHECK(client.servers->times_asked == 2);
}

TEST_CASE("without a token nothing is asked, and every answer says why") {
  Client client;
  std::string why = "the answer has no token";
  auto set = [&](int status, const std::string& body) {
    client.servers->metadata = answer_of(status, body);
  };
  SECTION("there is no such server") {
    client.servers->metadata = {};
    client.servers->metadata.fault = why = "could not resolve host";
  }
  SECTION("no account") {
    set(404, token_text("first", 3600));
    why = "HTTP status 404";
  }
  SECTION("no JSON") {
    set(200, "<html>");
  }
  SECTION("no object") {
    set(200, "[]");
  }
  SECTION("none in it") {
    set(200, R"({"expires_in":3600})");
  }
  SECTION("one that ends the header") {
    set(200, token_text(R"(a\r\nX: y)", 3600));
  }
  SECTION("one that lasts for no time") {
    set(200, R"({"access_token":"a","expires_in":"long"})");
  }
  const auto answers = client.ask({"a", "b"});
  REQUIRE(answers.size() == 2);
  for (const HttpResponse& answer : answers) {
    CHECK(answer.status == 0);
    CHECK(answer.fault == fmt::format("no credential is set, and {}: {}", kTokenUrl, why));
    CHECK(is_passing(answer));
  }
  CHECK(client.servers->batches.empty());
  // The metadata server may have a token a moment later.
  set(200, token_text("first", 3600));
  CHECK(client.ask({"a"})[0].status == 200);
}

TEST_CASE("a request that is stopped while the token is requested reports only the stop") {
  Client client;
  client.servers->metadata = {};
  client.servers->metadata.fault = "stopped";
  CHECK(client.ask({"a"})[0].fault == "stopped");
  client.http.stop();
  CHECK(client.servers->is_stopped);
}
