// Tests of work in a process of its own: whatever ends that process is reported.
#include "engine/steps/child.h"

#include <csignal>
#include <stdexcept>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::steps;

namespace {

// Returns why the work did not end; empty: the work ended.
std::string ended(const std::function<Status()>& work, const ChildLimits& limits = {}) {
  auto problem = in_child(work, limits);
  REQUIRE(problem);
  return problem->value_or("");
}

}  // namespace

TEST_CASE("work that comes to an end is as it would be here") {
  CHECK(ended([]() -> Status { return {}; }).empty());
  const auto failed = in_child([]() -> Status { return external("the disk"); });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::external);
  CHECK(failed.error().message == "the disk");
}

TEST_CASE("a process that is killed is reported, and ends no other process") {
  CHECK(ended([]() -> Status {
          std::signal(SIGSEGV, SIG_DFL);  // Catch has a handler of its own
          std::raise(SIGSEGV);
          return {};
        }) == "died of signal 11");
  CHECK(ended([]() -> Status { throw std::runtime_error("no such member"); }) ==
        "internal error: no such member");
  CHECK(ended([]() -> Status { throw std::bad_alloc(); }) == "needs more than 8 GiB of memory");
  CHECK(ended([]() -> Status {
          std::raise(SIGXCPU);
          return {};
        }) == "takes more than 600 s");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("memory has a limit") {
  const auto greedy = []() -> Status {
    std::string all;
    while (true) all.append(1 << 20, 'x');
  };
  CHECK(ended(greedy, {uint64_t{1} << 30, 600}) == "needs more than 1 GiB of memory");
}
#endif
