// Tests of the API's client against a server in memory: which requests are sent again, and which
// are not.
#include "k8s/api.h"

#include <deque>

#include "k8s/doctor.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::k8s;
using nlohmann::json;

namespace {

class FakeServer : public Http {
 public:
  std::deque<HttpResponse> answers;  // the last answer repeats forever
  std::vector<HttpRequest> asked;

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    REQUIRE(requests.size() == 1);
    asked.push_back(requests.front());
    HttpResponse answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return {answer};
  }
  void stop() override {}
};

HttpResponse answer_of(int status, const std::string& body, double retry_after = 0) {
  HttpResponse out;
  out.status = status;
  out.body = body;
  out.retry_after_seconds = retry_after;
  return out;
}

HttpResponse fault_of(const std::string& words) {
  HttpResponse out;
  out.fault = words;
  return out;
}

struct Client {
  FakeServer server;
  std::vector<double> pauses;
  std::vector<bool> refused;  // for each request for a token: was the last token refused?
  Api api{server,
          "https://x",
          {[this](bool is_refused) -> Result<std::string> {
             refused.push_back(is_refused);
             return std::string(is_refused ? "new" : "old");
           },
           [this](double seconds) { pauses.push_back(seconds); }}};
};

bool has_token(const HttpRequest& request, const std::string& token) {
  return std::find(request.headers.begin(), request.headers.end(),
                   "Authorization: Bearer " + token) != request.headers.end();
}

}  // namespace

TEST_CASE("a server that is away or busy is asked again after the pause that it gives") {
  Client client;
  client.server.answers = {fault_of("could not connect"), answer_of(429, "{}", 3),
                           answer_of(503, "no JSON"), answer_of(200, R"({"kind":"X"})")};
  auto answer = client.api.get("/version");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == json{{"kind", "X"}});
  CHECK(client.pauses == std::vector<double>{0.5, 3, 2});
}

TEST_CASE("a server that stays away is an error of the world, with what was asked") {
  Client client;
  client.server.answers = {fault_of("could not connect")};
  auto answer = client.api.get("/version");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::external);
  CHECK(answer.error().message == "GET https://x/version: could not connect");
  CHECK(client.server.asked.size() == 5);
}

TEST_CASE("a refusal is an answer") {
  Client client;
  client.server.answers = {answer_of(403, R"({"kind":"Status","message":"pods is forbidden"})")};
  auto answer = client.api.create("/api/v1/x", {{"a", 1}});
  REQUIRE(answer);
  CHECK_FALSE(answer->is_success());
  CHECK(answer->why() == "pods is forbidden");
  CHECK(client.server.asked.size() == 1);
  CHECK(client.server.asked[0].body == R"({"a":1})");
}

TEST_CASE("a token that was turned down is renewed, once") {
  Client client;
  client.server.answers = {answer_of(401, "{}"), answer_of(200, "{}")};
  REQUIRE(client.api.get("/version"));
  REQUIRE(client.server.asked.size() == 2);
  CHECK(has_token(client.server.asked[0], "old"));
  CHECK(has_token(client.server.asked[1], "new"));

  client.server.answers = {answer_of(401, "{}")};
  auto refused = client.api.get("/version");
  REQUIRE_FALSE(refused);
  CHECK(client.server.asked.size() == 4);
  CHECK(client.pauses.empty());
}

TEST_CASE("a cluster that cannot be reached has one finding") {
  Client client;
  client.server.answers = {fault_of("could not connect")};
  auto findings = examine(client.api, Access{});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].state == Finding::State::missing);
  CHECK(findings[0].text == "GET https://x/version: could not connect");
}

TEST_CASE("a server may send anything") {
  Client client;
  for (const char* body :
       {"[]", "{}", R"({"items":[1,{"metadata":[]},{"status":{"conditions":[2]}}]})",
        R"({"status":{"allowed":"yes","userInfo":7},"items":{}})"}) {
    client.server.answers = {answer_of(200, body)};
    CHECK_FALSE(examine(client.api, Access{}).empty());
  }
}
