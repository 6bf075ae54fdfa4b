// The steps that judge a candidate, in their order, and the report that each leaves of a case.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// What is done with a case: is it timed; is it compared as a whole, and run in the TPU interpreter.
// A timed case that is too large for that is compared in parts (the step values).
struct JudgedCase {
  std::string name;
  bool is_bench = false;
  bool is_check = false;
  bool must_be_new = false;  // a program that is too near to an earlier variant's is turned down
};

// How far a variant has been judged: each stage begins when the one before has turned nothing down.
enum class Judged {
  before_checks,   // it has programs, as they were asked for
  before_compile,  // its small cases have been compared, too
  before_times,    // its schedules are known, too
  before_values,   // it has times, too
  whole            // its large timed cases have been compared, too
};

// By the stage that begins then: "checks", "compile", or "rounds", which is what follows a seed.
Judged judged_before(std::string_view stage);

struct StepReport {
  std::string step;  // "analyze"
  std::string case_name;
  std::string file;  // "facts.json", in the case's folder of a variant
};

// What is there of a variant that has been judged so far. Step by step, and of each step case by
// case: the first report that is no "ok" is why a candidate is turned down.
std::vector<StepReport> judging_reports(const std::vector<JudgedCase>& cases,
                                        Judged judged = Judged::whole);

}  // namespace evolve
