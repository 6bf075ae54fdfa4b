#include "engine/world/process/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "engine/core/outside_json.h"
#include "engine/core/text/characters.h"
#include "engine/world/files.h"
#include "engine/world/process/words.h"

namespace evolve::world {

namespace {

constexpr size_t kErrorTail = 4096;

// Returns a request as a line of JSON. A byte that is not UTF-8 becomes a lone surrogate. Python
// uses the same surrogate for such a byte in a path, and turns it back when it opens the path
// ("surrogateescape"). nlohmann's JSON cannot write lone surrogates.
std::string request_line(const std::vector<std::string>& words, uint64_t request) {
  std::string arguments;
  for (const std::string& word : words) {
    arguments += arguments.empty() ? "\"" : ",\"";
    for (std::string_view rest = word; !rest.empty();) {
      const auto [length, code] = first_character(rest);
      if (length == 0) {
        arguments += fmt::format("\\udc{:02x}", static_cast<unsigned char>(rest.front()));
      } else if (code < ' ') {
        arguments += fmt::format("\\u{:04x}", code);
      } else {
        if (code == '"' || code == '\\') arguments += '\\';
        arguments += rest.substr(0, length);
      }
      rest.remove_prefix(std::max<size_t>(length, 1));
    }
    arguments += '"';
  }
  return fmt::format("{{\"arguments\":[{}],\"requestId\":{}}}\n", arguments, request);
}

}  // namespace

Result<Worker> Worker::start(const std::string& command,
                             const std::map<std::string, std::string>& environment,
                             Spawner& spawner) {
  TRY_ASSIGN(auto process, Process::start("exec " + command + " --persistent_worker", environment,
                                          Streams::separate, Leftovers::end, spawner));
  return Worker(command, std::move(process));
}

Status Worker::ask(uint64_t request, const std::string& arguments) {
  auto words = split_words(arguments);
  if (!words)
    return bad_input(fmt::format("arguments of a worker are not plain words: {}", arguments));
  const std::string text = request_line(*words, request);
  std::string_view rest = text;
  while (!rest.empty()) {
    ssize_t count = ::write(process_.in().get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    // read() notices a worker that is gone, and returns its last output.
    if (count < 0) break;
    rest.remove_prefix(static_cast<size_t>(count));
  }
  request_ = request;
  return {};
}

std::variant<std::monostate, Worker::Response, Worker::Died> Worker::read() {
  read_available(process_.err().get(), err_);
  if (err_.size() > kErrorTail) err_.erase(0, err_.size() - kErrorTail);
  bool is_open = read_available(process_.out().get(), out_);
  size_t end = out_.find('\n');
  if (end == std::string::npos) {
    if (is_open) return std::monostate{};
    return Died{err_};
  }
  auto message = json_or_null(out_.substr(0, end));
  out_.erase(0, end + 1);
  bool is_ours = message.is_object() && message.value("requestId", uint64_t{0}) == request_;
  if (!is_ours) return Died{"the program does not use the worker protocol"};
  request_ = 0;
  return Response{message.value("exitCode", 1), message.value("output", std::string())};
}

}  // namespace evolve::world
