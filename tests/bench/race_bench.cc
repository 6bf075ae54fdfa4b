// A benchmark of the cost and the error rate of racing and of 50 repeats for every variant. Usage:
//
//   race_bench [ROUNDS]        ROUNDS: the number of rounds to draw (default: 2000)
//
// A round's variants are programs with known shares of the seed's work. `timing.py --record` has
// measured them (tests/data/runs.jsonl) in short runs, like the race's screening, and in longer
// runs, like those of its finalists. A variant's samples are drawn from its program's runs, with
// replacement. Both ways use the same selection. The benchmark prints the device time of racing as
// a share of that of the repeats. For both ways it prints how often the leader is truly slower than
// the best by more than scores resolve, and how often a variant that is no faster than the seed is
// called faster.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/campaign/generator/round.h"
#include "engine/search/selection/race.h"
#include "engine/search/selection/selection.h"

using namespace evolve;
using nlohmann::json;

namespace {

constexpr int kRepeats = 50;
constexpr int kVariants = 12;
constexpr int kSurvivors = 2;
constexpr int kFinalists = 2 * kSurvivors;
// The smallest difference that scores of measured times resolve
// (engine/search/selection/selection.h).
constexpr double kResolution = 0.01;
const char* const kCase = "recorded";

int runs_of(const Effort& effort) {
  return effort.processes * effort.runs;
}
double run_seconds(const Effort& effort) {
  return effort.seconds / runs_of(effort);
}

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "race_bench: {}\n", what);
  std::exit(1);
}

// A program, with the logarithm of the ratio of its time to the seed's in each run.
struct Program {
  double share = 1;           // work, relative to the seed's
  double truth = 0;           // the mean of all longer runs
  std::vector<double> brief;  // runs as long as in the screening
  std::vector<double> longer;
};

// Reads tests/data/runs.jsonl, with lines {"program", "share", "run_seconds", "log_ratios"}.
std::vector<Program> read_programs() {
  const Timing timing;
  std::ifstream file(EVOLVE_SOURCE "/tests/data/runs.jsonl");
  std::map<std::pair<std::string, double>, Program> found;
  for (std::string line; std::getline(file, line);) {
    const json one = json::parse(line, nullptr, false);
    if (!one.is_object()) fail("tests/data/runs.jsonl: a line is no JSON object");
    Program& program = found[{one.at("program"), one.at("share")}];
    program.share = one.at("share");
    auto is_of = [&](const Effort& effort) {
      return std::abs(one.at("run_seconds").get<double>() - run_seconds(effort)) < 1e-3;
    };
    if (!is_of(timing.screening) && !is_of(timing.confirming)) fail("a run of another length");
    for (double ratio : one.at("log_ratios")) {
      (is_of(timing.screening) ? program.brief : program.longer).push_back(ratio);
    }
  }
  std::vector<Program> out;
  for (auto& [key, program] : found) {
    if (program.brief.empty() || program.longer.empty()) fail("a program lacks runs");
    program.truth = std::accumulate(program.longer.begin(), program.longer.end(), 0.0) /
                    static_cast<double>(program.longer.size());
    out.push_back(std::move(program));
  }
  if (out.empty()) fail("tests/data/runs.jsonl: no runs");
  return out;
}

class Bench {
 public:
  explicit Bench(std::vector<Program> programs) : programs_(std::move(programs)) {}

  // Draws the programs of the next round from those with `from` to `to` of the seed's work.
  void draw_round(double from, double to) {
    std::vector<const Program*> usable;
    for (const Program& program : programs_) {
      if (from <= program.share && program.share <= to) usable.push_back(&program);
    }
    round_.clear();
    for (int i = 0; i < kVariants; ++i) round_.push_back(usable[random_() % usable.size()]);
  }

  struct Errors {
    int leaders = 0;     // leaders that are slower than the best
    int false_wins = 0;  // variants that are called faster but are not
    double seconds = 0;  // device time
  };

  void repeat(Errors& errors) {
    std::vector<search::Evaluated> variants;
    for (size_t i = 0; i < round_.size(); ++i) {
      variants.push_back(measured(i, round_[i]->brief, kRepeats, errors));
      errors.seconds += kRepeats * run_seconds(timing_.screening);
    }
    judge(std::move(variants), errors);
  }

  void race(Errors& errors) {
    std::vector<search::Contender> runners;
    Errors unjudged;  // not counted, because a short measurement decides nothing
    for (size_t i = 0; i < round_.size(); ++i) {
      const search::Evaluated short_time =
          measured(i, round_[i]->brief, runs_of(timing_.screening), unjudged);
      runners.push_back({short_time.id, search::standing_of(short_time.ratios, {{kCase, 1}})});
    }
    errors.seconds += timing_.screening.seconds * kVariants;
    const auto entries = search::race(runners, {{}}, kSurvivors, kFinalists);
    std::vector<search::Evaluated> variants;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].is_in) continue;
      variants.push_back(measured(i, round_[i]->longer, runs_of(timing_.confirming), errors));
      errors.seconds += timing_.confirming.seconds;
    }
    judge(std::move(variants), errors);
  }

 private:
  // Returns a variant that is measured by `runs` runs, which are drawn from `from`.
  search::Evaluated measured(size_t number, const std::vector<double>& from, int runs,
                             Errors& errors) {
    search::Samples samples;
    for (int run = 0; run < runs; ++run) {
      const double ratio = std::exp(from[random_() % from.size()]);
      samples.runs.push_back({{{1, 1}, {ratio, ratio}}});
    }
    const search::Decision decision = search::decide(samples, {});
    if (decision.comparison == search::Comparison::faster && round_[number]->truth >= 0) {
      errors.false_wins += 1;
    }
    search::Evaluated out;
    out.id = VariantId(static_cast<int>(number) + 1);
    out.parameters["number"] = static_cast<int64_t>(number);
    out.time_kind = TimeKind::measured;
    out.seconds[kCase] = decision.ratio.value;
    out.ratios[kCase] = decision.ratio;
    return out;
  }

  void judge(std::vector<search::Evaluated> variants, Errors& errors) const {
    search::SelectionRequest request;
    request.cases = {{kCase, 1}};
    request.rule.top_k = kSurvivors;
    request.seed.time_kind = TimeKind::measured;
    request.seed.seconds[kCase] = 1;
    request.variants = std::move(variants);
    const auto selection = search::select(request);
    if (!selection) fail(selection.error().message);
    double best = 0;  // the seed's
    for (const Program* program : round_) best = std::min(best, program->truth);
    const int number = selection->survivors.front().variant.id.number();
    const double truth = number == 0 ? 0 : round_[static_cast<size_t>(number - 1)]->truth;
    errors.leaders += truth > best + std::log1p(kResolution) ? 1 : 0;
  }

  std::vector<Program> programs_;
  std::vector<const Program*> round_;
  std::mt19937_64 random_{1};
  const Timing timing_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
  Bench bench(read_programs());
  fmt::print("{} rounds of {} variants\n", rounds, kVariants);
  fmt::print("                       device time   slow leaders   false wins\n");
  std::array<Bench::Errors, 2> all;
  int count = 0;
  auto print = [&](const char* name, const std::array<Bench::Errors, 2>& of, int drawn) {
    fmt::print("{}\n", name);
    for (size_t way = 0; way < of.size(); ++way) {
      fmt::print("  {:<20} {:9.0f} % {:12.2f} % {:10.3f} %\n", way == 0 ? "50 repeats" : "race",
                 100 * of[way].seconds / of[0].seconds, 100.0 * of[way].leaders / drawn,
                 100.0 * of[way].false_wins / drawn / kVariants);
    }
  };
  for (const auto& [name, from, to] :
       {std::tuple("0.8 to 1.2 of the seed", 0.8, 1.2), {"0.95 to 1.05", 0.95, 1.05}}) {
    std::array<Bench::Errors, 2> found;
    for (int i = 0; i < rounds; ++i) {
      bench.draw_round(from, to);
      bench.repeat(found[0]);
      bench.race(found[1]);
    }
    print(name, found, rounds);
    for (size_t way = 0; way < all.size(); ++way) {
      all[way].leaders += found[way].leaders;
      all[way].false_wins += found[way].false_wins;
      all[way].seconds += found[way].seconds;
    }
    count += rounds;
  }
  print("both", all, count);
  return 0;
}
