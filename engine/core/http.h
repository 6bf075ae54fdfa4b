// The port to web servers: several requests at a time, each answered or said why not. Implemented
// by engine/world, and by the fakes of tests/.
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
  std::string body;  // put, post, patch: what is sent, unless `file` names it
  // put, post: the file that is sent; get: where the body of an answer goes, in place of what is
  // there.
  std::string file;
  int64_t most_bytes = 0;  // of the answer's body; of one to put only its start is kept
  std::vector<std::string> headers = {};  // "Content-Type: application/json"
  // get, post: takes the body of an answer that is a success piece by piece, as it comes; where it
  // says false, that was enough. However long that takes, unless a limit below says otherwise.
  // Called by the thread that performs.
  std::function<bool(std::string_view)> take = {};
  int most_seconds = 0;  // until all of the answer is there; 0: as the client has it
  // Seconds without a byte, before the answer too, after which it is given up; by libcurl, which
  // looks at the mean of the last five seconds, as much as five later. 0: as the client has it.
  int most_silence = 0;
};

struct HttpResponse {
  int status = 0;                  // 0: no answer, or not all of it
  std::string body;                // where it was asked for without a file
  bool is_too_long = false;        // the body was cut off after `most_bytes`
  std::string fault;               // why there is no answer: "timed out"
  bool is_local_fault = false;     // the request's file, not the server, is why
  double retry_after_seconds = 0;  // how long the server asks us to wait; 0: it does not say
};

// "GET".
const char* method_name(HttpRequest::Method method);
constexpr bool is_success(int status) {
  return status >= 200 && status < 300;
}
// Of an answer to get or head: nothing is there. (204: so say caches that have forgotten it.)
constexpr bool is_absent(int status) {
  return status == 404 || status == 410 || status == 204;
}

class Http {
 public:
  virtual ~Http() = default;
  // Performs all requests, many at a time, and returns when each has ended: the answers, in the
  // requests' order. Redirections are answers. May be called by several threads at once.
  virtual std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) = 0;
  // Ends what is performed now and later, with a fault. May be called by another thread.
  virtual void stop() = 0;
};

// How often, and after how long, a server is asked again: seven seconds in all by default, its
// restart or a moment's overload.
struct Patience {
  std::function<void(double seconds)> pause;
  int tries = 5;
  double first_pause = 0.5;  // seconds; each is twice the one before, or what the server asks for
};
// True for what may be otherwise in a moment: no answer, 429, 5xx. Not where the reader was
// stopped.
bool is_passing(const HttpResponse& response);
// Performs all requests, and those again whose failure may pass. A request with `take` must not be
// among them.
std::vector<HttpResponse> perform_patiently(Http& http, std::span<const HttpRequest> requests,
                                            const Patience& patience);

}  // namespace evolve
