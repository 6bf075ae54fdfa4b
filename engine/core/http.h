// The port to web servers. It performs several requests at a time; each gets an answer, or the
// reason why there is no answer. engine/world and the fakes of tests/ implement the port.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evolve {

struct HttpRequest {
  enum class Method { get, head, put, post, patch, remove };
  Method method = Method::get;
  std::string url;
  std::string body;  // put, post, patch: the body to send, unless `file` is given
  // put, post: the file to send. get: the file that receives the body of the answer; an existing
  // file is replaced.
  std::string file;
  // The maximum size of the answer's body in bytes. For get, a longer body sets `is_too_long`. For
  // other methods, only the start of a longer body is kept.
  int64_t most_bytes = 0;
  std::vector<std::string> headers = {};  // "Content-Type: application/json"
  // get, post: receives the body of a successful answer piece by piece, as it arrives. `take`
  // returns false when it needs no more. The answer may take any time, unless a limit below is set.
  // The thread that runs perform() calls `take`.
  std::function<bool(std::string_view)> take = {};
  int most_seconds = 0;  // until the whole answer has arrived; 0: the client's default
  // The request ends after this many seconds without a byte. The time before the answer begins
  // counts, too. libcurl looks at the mean of the last five seconds, so the end may be five seconds
  // later. 0: the client's default.
  int most_silence = 0;
};

struct HttpResponse {
  int status = 0;                  // 0: no answer, or only a part of one
  std::string body;                // empty if the request named a file for the body
  bool is_too_long = false;        // the body was cut off after `most_bytes`
  std::string fault;               // why there is no answer: "timed out"
  bool is_local_fault = false;     // the cause is the request's file, not the server
  double retry_after_seconds = 0;  // how long the server asks us to wait; 0: not given
};

// Returns the method's name in the protocol, such as "GET".
const char* method_name(HttpRequest::Method method);
constexpr bool is_success(int status) {
  return status >= 200 && status < 300;
}
// Whether an answer to get or head says that nothing is there. (Caches answer 204 for a file that
// they have dropped.)
constexpr bool is_absent(int status) {
  return status == 404 || status == 410 || status == 204;
}

class Http {
 public:
  virtual ~Http() = default;
  // Performs all requests, many at a time, and returns when each has ended. Returns the answers in
  // the order of the requests. A redirection counts as an answer and is not followed. May be called
  // by several threads at once.
  virtual std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) = 0;
  // Ends all present and later requests with a fault. May be called by another thread.
  virtual void stop() = 0;
};

// How often a server is asked again, and after which pauses. The default pauses last 7.5 seconds in
// all, which is enough for a restart or a short overload.
struct Patience {
  std::function<void(double seconds)> pause;
  int tries = 5;
  double first_pause = 0.5;  // seconds; doubles each time; longer if the server asks for it
};
// Whether a failure may be temporary: no answer, 429 or 5xx. False if the port was stopped, or if
// the request's file is the cause.
bool is_passing(const HttpResponse& response);
// Performs all requests, and repeats the requests whose failure may be temporary. REQUIRES: no
// request has `take`.
std::vector<HttpResponse> perform_patiently(Http& http, std::span<const HttpRequest> requests,
                                            const Patience& patience);

}  // namespace evolve
