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
  // put: the file that is sent; get: where the body of an answer goes, in place of what is there.
  std::string file;
  int64_t most_bytes = 0;  // of the answer's body; of one to put only its start is kept
  std::vector<std::string> headers = {};  // "Content-Type: application/json"
  // get: takes the body of an answer that is a success piece by piece, as it comes, however long
  // that takes; where it says false, that was enough. Called by the thread that performs.
  std::function<bool(std::string_view)> take = {};
};

struct HttpResponse {
  int status = 0;                  // 0: no answer, or not all of it
  std::string body;                // where it was asked for without a file
  bool is_too_long = false;        // the body was cut off after `most_bytes`
  std::string fault;               // why there is no answer: "timed out"
  bool is_local_fault = false;     // the request's file, not the server, is why
  double retry_after_seconds = 0;  // how long the server asks us to wait; 0: it does not say
};

class Http {
 public:
  virtual ~Http() = default;
  // Performs all requests, many at a time, and returns when each has ended: the answers, in the
  // requests' order. Redirections are answers. May be called by several threads at once.
  virtual std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) = 0;
  // Ends what is performed now and later, with a fault. May be called by another thread.
  virtual void stop() = 0;
};

}  // namespace evolve
