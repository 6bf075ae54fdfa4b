#include "k8s/runner.h"

#include <fmt/format.h>

#include <utility>

#include "k8s/object_state.h"

namespace evolve::k8s {

namespace {

// A turn with nothing to do lasts this many seconds. Reports and new commands wait for its end.
constexpr double kTurnSeconds = 0.05;

}  // namespace

PodRunner::PodRunner(Runner& local, Dispatcher& dispatcher, Api& watching, const std::string& space,
                     std::function<void()> stop_watching, Clock& clock,
                     std::function<void(double seconds)> pause)
    : local_(local),
      dispatcher_(dispatcher),
      stop_watching_(std::move(stop_watching)),
      clock_(clock),
      pause_(std::move(pause)),
      jobs_(watching, fmt::format("/apis/batch/v1/namespaces/{}/jobs", space),
            fmt::format("{}={}", label::kManagedBy, label::kEvolve),
            {[this](const auto& object) {
               tell([sight = job_state(object)](Dispatcher& to) { to.see(sight); });
             },
             [this](const auto& name) { tell([name](Dispatcher& to) { to.lose_job(name); }); },
             [this](const auto& why) {
               const std::lock_guard lock(mutex_);
               blind_ = why;
             }},
            pause_),
      pods_(watching, fmt::format("/api/v1/namespaces/{}/pods", space),
            fmt::format("{}={}", label::kManagedBy, label::kEvolve),
            {[this](const auto& object) {
               tell([sight = pod_state(object)](Dispatcher& to) { to.see(sight); });
             },
             [this](const auto& name) { tell([name](Dispatcher& to) { to.lose_pod(name); }); },
             [](const auto&) {}},
            pause_) {
  threads_.emplace_back([this] { jobs_.run(); });
  threads_.emplace_back([this] { pods_.run(); });
  threads_.emplace_back([this] { dispatch(); });
}

PodRunner::~PodRunner() {
  stop();
}

void PodRunner::tell(std::function<void(Dispatcher&)> what) {
  const std::lock_guard lock(mutex_);
  told_.push_back(std::move(what));
}

void PodRunner::dispatch() {
  while (!is_stopping_) {
    const double start = clock_.monotonic_seconds();
    std::deque<std::function<void(Dispatcher&)>> told;
    {
      const std::lock_guard lock(mutex_);
      told.swap(told_);
    }
    for (const auto& what : told) what(dispatcher_);
    auto completed = dispatcher_.turn();
    auto state = dispatcher_.state();
    const bool is_idle = told.empty() && completed.empty();
    {
      const std::lock_guard lock(mutex_);
      for (Completed& one : completed) completed_.push_back(std::move(one));
      state_ = std::move(state);
      if (!blind_.empty()) state_.trouble = "cluster: " + blind_;
    }
    const double left = kTurnSeconds - (clock_.monotonic_seconds() - start);
    if (is_idle && left > 0) pause_(left);
  }
}

Status PodRunner::start(const Command& command) {
  if (!command.errand) return local_.start(command);
  tell([command](Dispatcher& to) { to.add(command); });
  return {};
}

Result<RunnerEvent> PodRunner::wait(double tick_seconds) {
  {
    const std::lock_guard lock(mutex_);
    if (!completed_.empty()) {
      Completed out = std::move(completed_.front());
      completed_.pop_front();
      return RunnerEvent(std::move(out));
    }
  }
  return local_.wait(tick_seconds);
}

ClusterState PodRunner::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

void PodRunner::stop() {
  local_.stop();
  if (is_stopping_.exchange(true)) return;
  jobs_.stop();
  pods_.stop();
  stop_watching_();
  for (std::thread& thread : threads_) thread.join();
  (void)dispatcher_.clean_up();
}

}  // namespace evolve::k8s
