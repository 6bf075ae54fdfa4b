// Tests of the HTTP port against a server on this machine that plays a script: the client reads the
// answer to a POST as it arrives, and gives up a server that falls silent.
#include "engine/world/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "engine/world/fd.h"
#include "tests/catch.h"

using namespace evolve;
using world::Fd;

namespace {

// Answers one connection with pieces. Then it closes the connection, or holds it until the client
// is gone.
class Server {
 public:
  Server(std::vector<std::string> pieces, bool holds) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1/chat/completions";
    thread_ = std::thread([this, pieces = std::move(pieces), holds] { serve(pieces, holds); });
  }
  ~Server() { thread_.join(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url;
  std::string request;

 private:
  void serve(const std::vector<std::string>& pieces, bool holds) {
    const Fd connection(::accept(listener_.get(), nullptr, nullptr));
    char buffer[4096];
    while (request.find("hello") == std::string::npos) {
      const ssize_t count = ::recv(connection.get(), buffer, sizeof buffer, 0);
      if (count <= 0) return;
      request.append(buffer, static_cast<size_t>(count));
    }
    for (const std::string& piece : pieces)
      (void)::send(connection.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    while (holds && ::recv(connection.get(), buffer, sizeof buffer, 0) > 0) {
    }
  }

  Fd listener_{::socket(AF_INET, SOCK_STREAM, 0)};
  std::thread thread_;
};

HttpRequest post_to(const Server& server, std::string& taken) {
  HttpRequest out;
  out.method = HttpRequest::Method::post;
  out.url = server.url;
  out.body = "hello";
  out.headers = {"Content-Type: application/json"};
  out.most_bytes = 100;
  out.take = [&taken](std::string_view bytes) {
    taken += bytes;
    return taken.find("[DONE]") == std::string::npos;
  };
  return out;
}

HttpResponse perform(const HttpRequest& request) {
  world::CurlHttp http({});
  return http.perform({&request, 1}).front();
}

const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

}  // namespace

TEST_CASE("the answer to a post is taken as it comes, until it was enough") {
  Server server({head, "data: 1\n\n", "data: [DONE]\n\n"}, true);
  std::string taken;
  const HttpResponse response = perform(post_to(server, taken));
  CHECK(response.status == 200);
  CHECK(taken == "data: 1\n\ndata: [DONE]\n\n");
  CHECK(response.body.empty());
}

TEST_CASE("an answer to a post that is no success is not taken, and its start is kept") {
  Server server({"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nslow down"},
                false);
  std::string taken;
  const HttpResponse response = perform(post_to(server, taken));
  CHECK(response.status == 429);
  CHECK(response.retry_after_seconds == 7);
  CHECK(response.body == "slow down");
  CHECK(taken.empty());
}

TEST_CASE("a stream that falls silent is given up") {
  Server server({head, "data: 1\n\n"}, true);
  std::string taken;
  HttpRequest request = post_to(server, taken);
  request.most_silence = 1;
  const HttpResponse response = perform(request);
  CHECK(response.status == 0);
  CHECK(!response.fault.empty());
  CHECK(taken == "data: 1\n\n");
}

TEST_CASE("a request that takes too long in all is given up") {
  Server server({head, "data: 1\n\n"}, true);
  std::string taken;
  HttpRequest request = post_to(server, taken);
  request.most_seconds = 1;
  CHECK(perform(request).status == 0);
}

// The first body fails when the file is closed, the second one while it is received.
TEST_CASE("a full disk is a fault of the file, not of the server") {
  const size_t size = GENERATE(size_t{10}, size_t{1} << 20);
  Server server({"HTTP/1.1 200 OK\r\n\r\n", std::string(size, 'x')}, false);
  HttpRequest request;
  request.url = server.url;
  request.headers = {"X-Word: hello"};
  request.file = "/dev/full";
  request.most_bytes = 2 << 20;
  const HttpResponse response = perform(request);
  CHECK(response.status == 0);
  CHECK(response.fault == "/dev/full: No space left on device");
  CHECK(response.is_local_fault);
}
