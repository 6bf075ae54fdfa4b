#include "k8s/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/core/json_read.h"
#include "engine/core/outside_json.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;

constexpr double kFirstPause = 0.1, kLongestPause = 5;
// The server ends a stream after this many seconds, and we begin another.
constexpr int kStreamSeconds = 290;
constexpr int kMostListed = 500;
constexpr int kGone = 410;

}  // namespace

Watch::Watch(Api& api, std::string collection, const std::string& label_selector, WatchSink sink,
             std::function<void(double seconds)> pause)
    : api_(api),
      collection_(std::move(collection)),
      selector_("labelSelector=" + label_selector),
      sink_(std::move(sink)),
      pause_(std::move(pause)) {}

void Watch::run() {
  double pause = kFirstPause;
  while (!is_stopped_) {
    if (version_.empty() ? list() : follow()) {
      pause = kFirstPause;
      continue;
    }
    if (is_stopped_) return;
    pause_(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool Watch::list() {
  std::set<std::string> there;
  std::string version, next;
  do {
    auto answer = api_.get(fmt::format("{}?{}&limit={}{}", collection_, selector_, kMostListed,
                                       next.empty() ? "" : "&continue=" + next));
    if (!answer || !answer->is_success()) {
      sink_.trouble(answer ? answer->why() : answer.error().message);
      return false;
    }
    for (const json& item : at_place(answer->body, "/items")) {
      there.insert(text_at_place(item, "/metadata/name"));
      sink_.seen(item);
    }
    version = text_at_place(answer->body, "/metadata/resourceVersion");
    next = text_at_place(answer->body, "/metadata/continue");
  } while (!next.empty() && !is_stopped_);
  for (const std::string& name : known_) {
    if (!there.contains(name)) sink_.gone(name);
  }
  known_ = std::move(there);
  version_ = std::move(version);
  sink_.trouble("");
  return true;
}

bool Watch::follow() {
  has_heard_ = false;
  auto ended = api_.stream(
      fmt::format("{}?{}&watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  collection_, selector_, version_, kStreamSeconds),
      [this](std::string_view line) { return take(line); });
  if (ended && ended->status == kGone) version_.clear();
  if (ended && ended->is_success()) {
    // The server may close each stream at once, so we pause before the next stream.
    if (!has_heard_) pause_(kFirstPause);
    return true;
  }
  // A stream that broke after it had reported something is continued at once.
  if (has_heard_ || version_.empty() || is_stopped_) return true;
  sink_.trouble(ended ? ended->why() : ended.error().message);
  return false;
}

bool Watch::take(std::string_view line) {
  const json event = json_or_null(line);
  const std::string type = text_at_place(event, "/type");
  const json& object = at_place(event, "/object");
  if (!object.is_object()) return !is_stopped_;
  if (type == "ERROR") {
    // The server no longer knows our place, or reports another fault. A new list will show which.
    version_.clear();
    return false;
  }
  if (!has_heard_) sink_.trouble("");
  has_heard_ = true;
  version_ = text_at_place(object, "/metadata/resourceVersion");
  const std::string name = text_at_place(object, "/metadata/name");
  if (type == "DELETED") {
    known_.erase(name);
    sink_.gone(name);
  } else if (type != "BOOKMARK") {
    known_.insert(name);
    sink_.seen(object);
  }
  return !is_stopped_;
}

}  // namespace evolve::k8s
