#include "engine/core/judging.h"

#include <array>

namespace evolve {

namespace {

struct JudgingStep {
  const char* step;
  const char* file;
  bool (*is_for)(const JudgedCase&);
};

bool is_any(const JudgedCase& /*one*/) {
  return true;
}
bool is_bench(const JudgedCase& one) {
  return one.is_bench;
}
bool is_check(const JudgedCase& one) {
  return one.is_check;
}
bool is_large(const JudgedCase& one) {
  return one.is_bench && !one.is_check;
}
bool must_be_new(const JudgedCase& one) {
  return one.must_be_new;
}

constexpr std::array<JudgingStep, 9> kSteps = {{{"lower", "lower.json", is_any},
                                                {"contract", "contract.json", is_any},
                                                {"novelty", "novelty.json", must_be_new},
                                                {"compile", "compile.json", is_bench},
                                                {"check", "check.json", is_check},
                                                {"interpret", "interpret.json", is_check},
                                                {"analyze", "facts.json", is_bench},
                                                {"time", "time.json", is_bench},
                                                {"values", "values.json", is_large}}};

}  // namespace

std::vector<StepReport> judging_reports(const std::vector<JudgedCase>& cases) {
  std::vector<StepReport> out;
  for (const JudgingStep& step : kSteps) {
    for (const JudgedCase& one : cases) {
      if (step.is_for(one)) out.push_back({step.step, one.name, step.file});
    }
  }
  return out;
}

}  // namespace evolve
