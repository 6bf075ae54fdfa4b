// A persistent worker: a process that serves one command after another over Bazel's JSON
// persistent-worker protocol (each WorkRequest is a line on stdin, each WorkResponse a line on
// stdout).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "engine/world/process/process.h"

namespace evolve::world {

class Worker {
 public:
  // Starts `command --persistent_worker`.
  static Result<Worker> start(const std::string& command,
                              const std::map<std::string, std::string>& environment,
                              Spawner& spawner);

  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] bool is_busy() const { return request_ != 0; }
  [[nodiscard]] uint64_t request() const { return request_; }
  [[nodiscard]] Process& process() { return process_; }

  // Sends a request. Bad input: `arguments` are not plain words. REQUIRES: not busy.
  Status ask(uint64_t request, const std::string& arguments);

  struct Response {
    int exit_code = 0;
    std::string output;
  };
  struct Died {
    std::string error_output;  // the end of its stderr
  };
  // Reads the output that is there. Returns the response to the request, the worker's end, or
  // nothing yet.
  std::variant<std::monostate, Response, Died> read();

 private:
  Worker(std::string command, Process process)
      : command_(std::move(command)), process_(std::move(process)) {}

  std::string command_;
  Process process_;
  uint64_t request_ = 0;
  std::string out_;  // read, but not yet a whole line
  std::string err_;
};

}  // namespace evolve::world
