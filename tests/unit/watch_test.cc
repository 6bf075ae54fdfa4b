// Tests of a watch against a server in memory that plays a script: what the watch reports, whatever
// breaks.
#include "k8s/watch.h"

#include <fmt/format.h>

#include <deque>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::k8s;

namespace {

// An answer of the server. A stream's body comes in pieces of three bytes; the stream may
// break after the body.
struct Scene {
  int status = 200;
  std::string body;
  bool breaks = false;
};

std::string object(const std::string& name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}

std::string event(const char* type, const std::string& of) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, of) + "\n";
}

Scene list(std::vector<std::string> names, int version, const std::string& next = "") {
  std::string items;
  for (const std::string& name : names) items += (items.empty() ? "" : ",") + object(name, 1);
  return {200,
          fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                      version, next, items)};
}

// Plays a script, and stops the watch at the script's end.
class Theatre : public Http {
 public:
  explicit Theatre(std::deque<Scene> script) : script_(std::move(script)) {}

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    REQUIRE(requests.size() == 1);
    const HttpRequest& request = requests.front();
    asked.push_back(request.url.substr(request.url.find('?') + 1));
    if (script_.empty()) {
      watch.stop();
      return {fault("the script is at its end")};
    }
    const Scene scene = script_.front();
    script_.pop_front();
    HttpResponse out;
    out.status = scene.status;
    if (!request.take || scene.status != 200) {
      out.body = scene.body;
    } else {
      constexpr size_t kPiece = 3;
      for (size_t at = 0; at < scene.body.size(); at += kPiece) {
        if (!request.take(std::string_view(scene.body).substr(at, kPiece))) return {out};
      }
    }
    return {scene.breaks ? fault("the connection broke") : out};
  }
  void stop() override {}

  std::vector<std::string> told, asked;
  std::string trouble;
  int pauses = 0;

 private:
  static HttpResponse fault(const char* words) {
    HttpResponse out;
    out.fault = words;
    return out;
  }

  std::deque<Scene> script_;
  Api api_{*this,
           "https://x",
           {[](bool) -> Result<std::string> { return std::string(); }, [](double) {}}};

 public:
  Watch watch{api_,
              "/apis/x",
              "a=b",
              {[this](const nlohmann::json& seen) {
                 told.push_back("+" + seen["metadata"]["name"].get<std::string>());
               },
               [this](const std::string& name) { told.push_back("-" + name); },
               [this](const std::string& why) {
                 if (!why.empty()) trouble = why;
               }},
              [this](double) { ++pauses; }};
};

std::vector<std::string> play(Theatre& theatre) {
  theatre.watch.run();
  return theatre.told;
}

bool has_version(const std::string& query, const std::string& version) {
  return query.find("watch=true") != std::string::npos &&
         query.find("resourceVersion=" + version + "&") != std::string::npos;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a watch reports the existing objects, and then their changes") {
  Theatre theatre({list({"one"}, 5, "more"),
                   list({"two"}, 5),
                   {200, event("ADDED", object("three", 6)) + event("MODIFIED", object("one", 7)) +
                             event("DELETED", object("two", 8))}});
  CHECK(play(theatre) == Words{"+one", "+two", "+three", "+one", "-two"});
  CHECK(theatre.asked[1].find("continue=more") != std::string::npos);
  CHECK(has_version(theatre.asked[2], "5"));
  CHECK(has_version(theatre.asked[3], "8"));
}

TEST_CASE("a stream that breaks goes on after the last event, even if this is a bookmark") {
  Theatre theatre(
      {list({}, 5),
       {200, event("ADDED", object("one", 6)) + event("BOOKMARK", object("", 40)) + R"({"ty)",
        true},
       {200, event("ADDED", object("two", 41))}});
  CHECK(play(theatre) == Words{"+one", "+two"});
  CHECK(has_version(theatre.asked[2], "40"));
}

TEST_CASE(
    "a place that the server has forgotten is listed anew, and what is missing there is gone") {
  const bool is_in_stream = GENERATE(false, true);
  const Scene forgotten = is_in_stream
                              ? Scene{200, event("ERROR", R"({"code":410,"reason":"Expired"})")}
                              : Scene{410, R"({"code":410})"};
  Theatre theatre({list({"one", "two"}, 5),
                   forgotten,
                   list({"two", "three"}, 90),
                   {200, event("ADDED", object("four", 91))}});
  CHECK(play(theatre) == Words{"+one", "+two", "+two", "+three", "-one", "+four"});
  CHECK(has_version(theatre.asked[3], "90"));
}

TEST_CASE("a refused watch reports the reason, waits, and asks again") {
  Theatre theatre({{403, R"({"message":"jobs is forbidden"})"}, list({"one"}, 5)});
  CHECK(play(theatre) == Words{"+one"});
  CHECK(theatre.trouble.find("jobs is forbidden") != std::string::npos);
  CHECK(theatre.pauses >= 1);
}

TEST_CASE("a server that hangs up at once is not asked without a pause") {
  Theatre theatre({list({}, 5), {200, ""}, {200, ""}, {200, ""}});
  play(theatre);
  CHECK(theatre.pauses >= 3);
}
