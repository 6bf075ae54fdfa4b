// How long a round's selection takes: 1,000 variants a round, 20 rounds, each policy. Of the step
// it is what is not files: reading the records of the round before, choosing, the history, what was
// learned, and writing these.
//   cmake --build build/release --target select_bench && build/release/tests/select_bench
#include <chrono>

#include "engine/search/learn.h"
#include "engine/search/population.h"
#include "tests/synthetic_rounds.h"

namespace {

using namespace evolve;
using namespace evolve::search;
using Clock = std::chrono::steady_clock;

constexpr int kVariants = 1000;
constexpr int kRounds = 20;

double milliseconds(Clock::duration spent) {
  return std::chrono::duration<double, std::milli>(spent).count();
}

// Milliseconds a round: of the choice alone, and of all.
struct Spent {
  double choosing = 0, learning = 0, all = 0, longest = 0;
};

Spent run(const std::string& policy) {
  PopulationRule rule;
  rule.policy = policy;
  rule.top_k = 8;
  tests::SyntheticRounds rounds(rule, kVariants, 1);
  std::string record = "{}", history;
  Spent out;
  for (int round = 1; round <= kRounds; ++round) {
    const SelectionRequest request = rounds.next();
    const auto begin = Clock::now();
    (void)read_selection(nlohmann::json::parse(record));
    auto past = read_history(history);
    const auto chosen = Clock::now();
    auto selection = select(request);
    const auto done = Clock::now();
    const History own = history_of_round(*past, request, *selection);
    history += history_lines(own);
    const nlohmann::json written = selection_record(*selection);
    record = written.dump(2);
    const auto recorded = Clock::now();
    past->insert(past->end(), own.begin(), own.end());
    auto learn_rule = read_learn_rule(written, {{"name", "matmul"}}, 0.05);
    (void)write_learnings(learn(*past, {}, *learn_rule, Proposals::none).accepted);
    const double all = milliseconds(Clock::now() - begin);
    out.choosing += milliseconds(done - chosen) / kRounds;
    out.learning += (all - milliseconds(recorded - begin)) / kRounds;
    out.all += all / kRounds;
    out.longest = std::max(out.longest, all);
    (void)rounds.take(written);
  }
  return out;
}

}  // namespace

int main() {
  fmt::print(
      "{} variants a round, {} rounds: milliseconds a round\n{:<12}{:>10}{:>10}{:>10}{:>10}\n",
      kVariants, kRounds, "policy", "choosing", "learning", "all", "longest");
  for (const std::string& policy : policy_names()) {
    const Spent spent = run(policy);
    fmt::print("{:<12}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", policy, spent.choosing,
               spent.learning, spent.all, spent.longest);
  }
}
