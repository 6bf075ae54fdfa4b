#include "engine/world/process/runner.h"

#include <fmt/format.h>
#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/world/process/sandbox.h"
#include "engine/world/signals.h"

namespace evolve::world {

bool LocalRunner::acquire() {
  if (!jobserver_ || has_slot_) return true;
  has_slot_ = jobserver_->acquire();
  waits_for_slot_ = !has_slot_;
  return has_slot_;
}

Status LocalRunner::start(const Command& command) {
  has_slot_ = false;
  Running running;
  running.id = command.id;
  running.started = clock_.monotonic_seconds();
  if (command.timeout_seconds > 0) running.deadline = running.started + command.timeout_seconds;
  if (!command.worker.empty()) {
    TRY_ASSIGN(auto worker, idle_worker(command));
    // The numbers of requests begin at 1, because 0 means no request.
    TRY(worker->ask(command.id + 1, command.arguments));
    running.worker = worker;
  } else {
    Result<std::string> line = command.line;
    if (command.is_sandboxed) line = sandboxed(command.line, command.writable, command.environment);
    if (!line) return std::move(line).error();
    TRY_ASSIGN(auto process,
               Process::start(
                   *line, command.environment, command.console ? Streams::console : Streams::merged,
                   command.keeps_leftovers ? Leftovers::stay : Leftovers::end, spawner_));
    running.process = std::make_unique<Process>(std::move(process));
  }
  running_.push_back(std::move(running));
  return {};
}

Result<Worker*> LocalRunner::idle_worker(const Command& command) {
  for (Worker& worker : workers_) {
    if (!worker.is_busy() && worker.command() == command.worker) return &worker;
  }
  TRY_ASSIGN(auto worker, Worker::start(command.worker, command.environment, spawner_));
  workers_.push_back(std::move(worker));
  return &workers_.back();
}

Result<RunnerEvent> LocalRunner::wait(double tick_seconds) {
  if (was_interrupted()) return RunnerEvent(Interrupted{});
  if (jobserver_ && std::exchange(has_slot_, false)) jobserver_->release();
  poll(tick_seconds);
  waits_for_slot_ = false;
  if (was_interrupted()) return RunnerEvent(Interrupted{});
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    if (auto done = look_at(*it)) {
      running_.erase(it);
      if (jobserver_) jobserver_->release();
      return RunnerEvent(*std::move(done));
    }
  }
  return RunnerEvent(Idle{});
}

void LocalRunner::poll(double seconds) {
  std::vector<pollfd> fds;
  auto add = [&](int fd) {
    if (fd >= 0) fds.push_back({fd, POLLIN, 0});
  };
  add(interrupt_descriptor());
  if (waits_for_slot_) add(jobserver_->descriptor());
  for (Running& running : running_) {
    if (running.worker != nullptr) {
      add(running.worker->process().out().get());
      add(running.worker->process().err().get());
    } else if (running.process->out().is_open()) {
      add(running.process->out().get());
    } else {
      add(running.process->exit_descriptor());
    }
  }
  ::poll(fds.data(), fds.size(), static_cast<int>(seconds * 1000));
}

std::optional<Completed> LocalRunner::look_at(Running& running) {
  if (running.worker != nullptr) return look_at_worker(running);
  Process& process = *running.process;
  // As in Ninja, a command ends when its pipe closes. So the runner waits for processes that the
  // command left in the background.
  if (process.out().is_open() && !read_available(process.out().get(), running.output)) {
    process.out().reset();
  }
  if (!process.out().is_open()) {
    if (auto status = process.ended()) {
      if (!process.failure().empty()) running.output += process.failure() + "\n";
      return completed(running, *status, false);
    }
  }
  if (running.deadline == 0 || clock_.monotonic_seconds() < running.deadline) return std::nullopt;
  process.kill();
  if (process.out().is_open()) read_available(process.out().get(), running.output);
  return completed(running, process.wait(), true);
}

std::optional<Completed> LocalRunner::look_at_worker(Running& running) {
  auto message = running.worker->read();
  if (auto* response = std::get_if<Worker::Response>(&message)) {
    running.output = std::move(response->output);
    return completed(running, response->exit_code, false);
  }
  bool is_late = running.deadline != 0 && clock_.monotonic_seconds() >= running.deadline;
  auto* died = std::get_if<Worker::Died>(&message);
  if (died == nullptr && !is_late) return std::nullopt;
  if (died != nullptr) running.output = "worker died: " + died->error_output;
  Worker* worker = running.worker;
  worker->process().kill();
  int status = worker->process().wait();
  auto done = completed(running, status == 0 ? 1 : status, is_late);
  drop_worker(worker);
  return done;
}

Completed LocalRunner::completed(const Running& running, int exit_status, bool timed_out) {
  return {running.id, exit_status, timed_out, running.output,
          clock_.monotonic_seconds() - running.started};
}

void LocalRunner::drop_worker(const Worker* worker) {
  workers_.remove_if([&](const Worker& candidate) { return &candidate == worker; });
}

double LocalRunner::load() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? average : 0;
}

void LocalRunner::stop() {
  running_.clear();
  workers_.clear();
  jobserver_.reset();  // gives its slots back
}

}  // namespace evolve::world
