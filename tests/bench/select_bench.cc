// A benchmark of a round's selection: 1,000 variants per round, 20 rounds, each policy. It covers
// all of the select step except files: reading the record of the round before, choosing, the
// history, learning, and writing the results.
//   cmake --build build/release --target select_bench && build/release/tests/select_bench
#include <chrono>

#include "engine/search/learning/learn.h"
#include "engine/search/selection/population.h"
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

// Milliseconds per round: the average of each part, and the longest round.
struct Spent {
  double reading = 0, choosing = 0, writing = 0, learning = 0, longest = 0;

  [[nodiscard]] double all() const { return reading + choosing + writing + learning; }
};

Spent run(const std::string& policy) {
  SelectionRule rule;
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
    const auto read = Clock::now();
    auto selection = select(request);
    const auto chosen = Clock::now();
    const History own = history_of_round(*past, request, *selection);
    history += history_lines(own);
    const nlohmann::json selected = selection_record(*selection);
    record = selected.dump(2);
    const auto written = Clock::now();
    past->insert(past->end(), own.begin(), own.end());
    auto rule_so_far = learn_rule(*selection, {{"name", "matmul"}}, 0.05);
    (void)write_learnings(learn(*past, {}, *rule_so_far, Proposals::none).accepted);
    const auto end = Clock::now();
    out.reading += milliseconds(read - begin) / kRounds;
    out.choosing += milliseconds(chosen - read) / kRounds;
    out.writing += milliseconds(written - chosen) / kRounds;
    out.learning += milliseconds(end - written) / kRounds;
    out.longest = std::max(out.longest, milliseconds(end - begin));
    (void)rounds.take(selected);
  }
  return out;
}

}  // namespace

int main() {
  fmt::print("{} variants a round, {} rounds: milliseconds a round\n", kVariants, kRounds);
  fmt::print("{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "policy", "reading", "choosing",
             "writing", "learning", "all", "longest");
  for (const std::string& policy : policy_names()) {
    const Spent spent = run(policy);
    fmt::print("{:<12}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", policy,
               spent.reading, spent.choosing, spent.writing, spent.learning, spent.all(),
               spent.longest);
  }
}
