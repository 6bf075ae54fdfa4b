#include "engine/search/judging.h"

#include <array>

#include "engine/core/json_read.h"

namespace evolve {

namespace {

struct JudgingStep {
  const char* step;
  const char* file;
  Judged judged;  // when the step is done
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

constexpr std::array<JudgingStep, 9> kSteps = {
    {{"lower", "lower.json", Judged::before_checks, is_any},
     {"contract", "contract.json", Judged::before_checks, is_any},
     {"novelty", "novelty.json", Judged::before_checks, must_be_new},
     {"check", "check.json", Judged::before_compile, is_check},
     {"interpret", "interpret.json", Judged::before_compile, is_check},
     {"compile", "compile.json", Judged::before_times, is_bench},
     {"analyze", "facts.json", Judged::before_times, is_bench},
     {"time", "time.json", Judged::before_values, is_bench},
     {"values", "values.json", Judged::whole, is_large}}};

}  // namespace

Judged judged_before(std::string_view stage) {
  if (stage == "checks") return Judged::before_checks;
  return stage == "compile" ? Judged::before_compile : Judged::whole;
}

std::vector<StepReport> judging_reports(const std::vector<JudgedCase>& cases, Judged judged) {
  std::vector<StepReport> out;
  for (const JudgingStep& step : kSteps) {
    if (step.judged > judged) continue;
    for (const JudgedCase& one : cases) {
      if (step.is_for(one)) out.push_back({step.step, one.name, step.file});
    }
  }
  return out;
}

const nlohmann::json& device_program_of(const nlohmann::json& report) {
  const nlohmann::json& programs = member(report, "programs");
  const nlohmann::json& device = member(programs, "device");
  return member(device.is_null() ? member(programs, "tpu") : device, "digest");
}

}  // namespace evolve
