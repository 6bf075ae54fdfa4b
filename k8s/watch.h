// A watch on a collection of objects: first a list of the objects, then their changes, for as long
// as wanted. After a stream breaks, the next stream continues at the same place. If the server no
// longer knows that place (410), the collection is listed again, and objects that are missing from
// the list count as gone.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "k8s/api.h"

namespace evolve::k8s {

// The receiver of a watch's reports; called by the watch's thread.
struct WatchSink {
  std::function<void(const nlohmann::json& object)> seen;  // the object as it is now
  std::function<void(const std::string& name)> gone;
  // Reports why the watch gets nothing at the moment; empty: it continues.
  std::function<void(const std::string& why)> trouble;
};

class Watch {
 public:
  // `collection` is like "/apis/batch/v1/namespaces/x/jobs". `api` must outlive this.
  Watch(Api& api, std::string collection, const std::string& label_selector, WatchSink sink,
        std::function<void(double seconds)> pause);

  // Watches until another thread has called stop() and the API has ended the request under way.
  void run();
  void stop() { is_stopped_ = true; }

 private:
  // Make one list, or follow one stream. False: a failure, after which run() pauses.
  bool list();
  bool follow();
  bool take(std::string_view line);

  Api& api_;
  std::string collection_, selector_;
  WatchSink sink_;
  std::function<void(double seconds)> pause_;
  std::atomic<bool> is_stopped_ = false;
  std::string version_;          // of the collection; empty: it must be listed
  std::set<std::string> known_;  // names of objects
  bool has_heard_ = false;       // from this stream
};

}  // namespace evolve::k8s
