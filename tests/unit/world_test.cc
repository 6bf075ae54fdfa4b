// Tests of the real runner, with real processes.
#include <csignal>

#include "engine/world/clock.h"
#include "engine/world/process/runner.h"
#include "engine/world/process/words.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::world;

namespace {

// Starts commands, and collects the completed commands.
class Runs {
 public:
  Runs() : guard_(*GuardProcess::start()), runner_(guard_, clock_) {}

  void start(uint64_t id, const std::string& line, double timeout = 0) {
    Command command;
    command.id = id;
    command.line = line;
    command.environment = {{"PATH", "/usr/bin:/bin"}, {"ONLY", "this"}};
    command.timeout_seconds = timeout;
    REQUIRE(runner_.start(command));
  }

  void start_worker(uint64_t id, const std::string& worker, const std::string& arguments) {
    Command command;
    command.id = id;
    command.line = "unused";
    command.worker = worker;
    command.arguments = arguments;
    command.environment = {{"PATH", "/usr/bin:/bin"}};
    REQUIRE(runner_.start(command));
  }

  Completed next() {
    while (true) {
      auto event = runner_.wait(1);
      REQUIRE(event);
      if (auto* completed = std::get_if<Completed>(&*event)) return *completed;
    }
  }
  LocalRunner& runner() { return runner_; }

 private:
  SystemClock clock_;
  GuardProcess guard_;
  LocalRunner runner_;
};

// A worker that answers each request with its process number; "die" ends the worker.
const char* const kEchoWorker =
    "sh -c 'while read -r line; do case $line in *die*) echo last words >&2; exit 3;; esac; "
    "id=${line##*requestId\\\":}; "
    "echo \"{\\\"exitCode\\\": 4, \\\"output\\\": \\\"served by $$\\\", \\\"requestId\\\": "
    "${id%\\}*}}\"; done' x";

}  // namespace

TEST_CASE("a command's output, exit code and environment are its own") {
  Runs runs;
  runs.start(7, "echo out; echo err >&2; echo $ONLY $HOME; exit 5");
  Completed done = runs.next();
  CHECK(done.id == 7);
  CHECK(done.exit_status == 5);
  CHECK(done.output == "out\nerr\nthis\n");
  CHECK(!done.timed_out);
}

TEST_CASE("a signal is reported as 128 plus its number") {
  Runs runs;
  runs.start(1, "kill -SEGV $$");
  CHECK(runs.next().exit_status == 128 + SIGSEGV);
}

TEST_CASE("a command that the kernel refuses fails, and the output has the reason") {
  Runs runs;
  runs.start(1, "true " + std::string(size_t{4} << 20, 'a'));
  Completed done = runs.next();
  CHECK(done.exit_status == 127);
  CHECK(done.output == "start '/bin/sh': Argument list too long\n");
}

TEST_CASE("a command that takes too long is ended with its children") {
  Runs runs;
  runs.start(1, "sleep 1000 & sleep 1000", 0.2);
  Completed done = runs.next();
  CHECK(done.timed_out);
  CHECK(done.exit_status == 128 + SIGKILL);
}

TEST_CASE("commands run side by side") {
  Runs runs;
  // Each command waits for the other, so they would never end if they ran one after another.
  std::string folder = "/tmp/evolve-side-by-side-" + std::to_string(::getpid());
  runs.start(0, "rm -rf " + folder + "; mkdir " + folder);
  runs.next();
  runs.start(1, "mkfifo " + folder + "/a; cat " + folder + "/a");
  runs.start(2, "while ! [ -p " + folder + "/a ]; do :; done; echo hello > " + folder + "/a");
  std::string output = runs.next().output + runs.next().output;
  CHECK(output == "hello\n");
  runs.start(3, "rm -rf " + folder);
  runs.next();
}

TEST_CASE("one worker serves one request after another") {
  Runs runs;
  runs.start_worker(1, kEchoWorker, "first");
  Completed first = runs.next();
  CHECK(first.exit_status == 4);
  runs.start_worker(2, kEchoWorker, "second");
  CHECK(runs.next().output == first.output);
}

TEST_CASE("two requests at once have two workers") {
  Runs runs;
  runs.start_worker(1, kEchoWorker, "first");
  runs.start_worker(2, kEchoWorker, "second");
  CHECK(runs.next().output != runs.next().output);
}

TEST_CASE("a worker that dies fails its request with its last words, and is replaced") {
  Runs runs;
  runs.start_worker(1, kEchoWorker, "die");
  Completed dead = runs.next();
  CHECK(dead.exit_status == 3);
  CHECK(dead.output == "worker died: last words\n");
  runs.start_worker(2, kEchoWorker, "again");
  CHECK(runs.next().exit_status == 4);
}

TEST_CASE("a command without a shell means the same as in a shell") {
  using Words = std::vector<std::string>;
  CHECK(*plain_command("cp 'a b' \"c\\\"d\" e\\ f ''") == Words{"cp", "a b", "c\"d", "e f", ""});
  CHECK(*plain_command("cc \"-DX=\\n\" -o a=b") == Words{"cc", "-DX=\\n", "-o", "a=b"});
  for (const char* line : {"A=1 cc", "echo a", "cd x", "true", "a && b", "a > b", "a *", "a ~",
                           "a #", "a \"$x\"", "a `b`", "a \\", "a \"b", "a\nb", "", "''", "if"}) {
    CAPTURE(line);
    CHECK(!plain_command(line));
  }
  Runs runs;
  runs.start(1, "no-such-program-here 1");
  Completed none = runs.next();
  CHECK(none.exit_status == 127);
  CHECK(none.output.find("no-such-program-here: not found") != std::string::npos);
  runs.start(2, "env");
  CHECK(runs.next().output == "ONLY=this\nPATH=/usr/bin:/bin\n");
}

TEST_CASE("arguments of a worker are plain words") {
  CHECK(*split_words("a 'b c' \"d\" e\\ f") == std::vector<std::string>{"a", "b c", "d", "e f"});
  CHECK(*split_words("") == std::vector<std::string>{});
  CHECK(!split_words("a | b"));
  CHECK(!split_words("a $HOME"));
  CHECK(!split_words("'open"));
}
