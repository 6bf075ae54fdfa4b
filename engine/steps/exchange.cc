// Step exchange: the question in request.json, put to a model, and the record of the model's
// answer. This is the only step that calls out. A replay takes the results of this step from the
// ledger. prompt.json says which key to use and how often to ask; neither is part of the question.
// After a fault the exit code is 3, and nothing is written. If another try would not help, the exit
// code is 2.
#include "engine/llm/exchange.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/core/digest.h"
#include "engine/llm/record.h"
#include "engine/steps/step.h"
#include "engine/world/fd.h"
#include "engine/world/http.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string request, prompt, out, pace;
  int timeout = 600, silence = 300, tries = 6;
};

constexpr double kFirstPause = 1;

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Waits for our turn at a model. The process that holds the file's lock takes the next free time.
Status take_turn(const std::string& file, double requests_per_minute) {
  double start = 0;
  {
    const world::Fd lock(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock.is_open() || ::flock(lock.get(), LOCK_EX) != 0)
      return external(fmt::format("lock '{}.lock': {}", file, std::strerror(errno)));
    std::string state;
    if (std::filesystem::exists(file)) {
      TRY_ASSIGN(auto text, world::read_file(file));
      state = std::move(text);
    }
    const llm::Turn turn = llm::next_turn(state, seconds_since_epoch(), requests_per_minute);
    TRY(world::write_file_atomic(file, turn.state));
    start = turn.start;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(start - seconds_since_epoch()));
  return {};
}

// Returns the file of a model's turns. Its name is a digest of the server and the model, so both
// may have any characters.
std::string pace_file(const std::string& folder, const llm::ChatRequest& request) {
  return fmt::format("{}/{}.turn", folder,
                     digest_of(request.base_url + "\n" + request.model).brief());
}

Status run(const Arguments& arguments) {
  TRY_ASSIGN(auto record, steps::read_json(arguments.request));
  auto question = llm::read_question(record);
  if (!question) return std::move(question).error().within(arguments.request);
  if (!question->request) return steps::write_json(arguments.out, llm::unasked_record(*question));
  TRY_ASSIGN(auto prompt, steps::read_json(arguments.prompt));
  const llm::Connection connection = llm::read_connection(prompt);
  TRY_ASSIGN(auto key, llm::usable_key(connection.key_variable,
                                       std::getenv(connection.key_variable.c_str())));
  llm::Conduct conduct;
  conduct.patience = world::patience();
  conduct.patience.tries = arguments.tries;
  conduct.patience.first_pause = kFirstPause;
  conduct.monotonic_seconds = monotonic_seconds;
  conduct.random_seed = digest_of(llm::digest_of_request(record)).low;
  conduct.most_seconds = arguments.timeout;
  conduct.most_silence = std::min(arguments.silence, arguments.timeout);
  if (!arguments.pace.empty() && connection.requests_per_minute > 0) {
    conduct.take_turn = [&]() {
      return take_turn(pace_file(arguments.pace, *question->request),
                       connection.requests_per_minute);
    };
  }
  world::CurlHttp http({});
  TRY_ASSIGN(auto exchange,
             llm::converse(http, *question->request, key, connection.key_variable, conduct));
  return steps::write_json(arguments.out, llm::exchange_record(*question, exchange, key));
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("exchange", "ask a model, and record its answer");
  Arguments arguments;
  line.add("--request", arguments.request, "request.json").required();
  line.add("--prompt", arguments.prompt,
           "prompt.json, which names the key and the limit of requests")
      .required();
  line.add("--out", arguments.out, "exchange.json").required();
  line.add("--timeout", arguments.timeout, "limit of an attempt, in seconds").between(1, 86400);
  line.add("--silence", arguments.silence, "end an attempt after this many seconds without a byte")
      .between(1, 86400);
  line.add("--tries", arguments.tries, "number of attempts").between(1, 100);
  line.add("--pace", arguments.pace,
           "folder through which processes share a model's requests_per_minute");
  return steps::run_step(line, argc, argv, [&]() -> Status { return run(arguments); });
}
