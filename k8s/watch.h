// A watch on a collection of objects: what is there, and then what becomes of it, for as long as it
// is wanted. A stream that breaks goes on where it was; where the server has forgotten that place
// (410) the collection is listed again, and what is missing there is gone.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "k8s/api.h"

namespace evolve::k8s {

// Who is told. Called by the watch's thread.
struct WatchSink {
  std::function<void(const nlohmann::json& object)> seen;  // as it is now
  std::function<void(const std::string& name)> gone;
  // Why nothing is heard for now; empty: it goes on.
  std::function<void(const std::string& why)> trouble;
};

class Watch {
 public:
  // `collection` as "/apis/batch/v1/namespaces/x/jobs". `api` must outlive this.
  Watch(Api& api, std::string collection, const std::string& label_selector, WatchSink sink,
        std::function<void(double seconds)> pause);

  // Returns when stop() was called, by another thread, and the API has ended what it was at.
  void run();
  void stop() { is_stopped_ = true; }

 private:
  // One list, or one stream. False: it failed, and nothing came of it.
  bool list();
  bool follow();
  bool take(std::string_view line);

  Api& api_;
  std::string collection_, selector_;
  WatchSink sink_;
  std::function<void(double seconds)> pause_;
  std::atomic<bool> is_stopped_ = false;
  std::string version_;          // of the collection; empty: it is to be listed
  std::set<std::string> known_;  // names
  bool has_heard_ = false;       // from this stream
};

}  // namespace evolve::k8s
