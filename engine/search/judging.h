// The steps that judge a candidate, in their order, and the report that each step leaves of a case.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// A case, and how it is judged. A bench case is timed. A check case is compared as a whole, and run
// in the TPU interpreter. A timed case that is too large for that is compared in parts (the step
// values).
struct JudgedCase {
  std::string name;
  bool is_bench = false;
  bool is_check = false;
  bool must_be_new = false;  // rejected if its program is too near to an earlier variant's
};

// How far a variant has been judged. Each stage begins when the stage before has rejected nothing.
enum class Judged {
  before_checks,   // its programs exist, and are as the spec asks for
  before_compile,  // its small cases have been compared, too
  before_times,    // its schedules are known, too
  before_values,   // it has times, too
  whole            // its large timed cases have been compared, too
};

// Returns how far a variant is judged when a stage begins: "checks", "compile", or "rounds", which
// follow the seed.
Judged judged_before(std::string_view stage);

struct StepReport {
  std::string step;  // "analyze"
  std::string case_name;
  std::string file;  // "facts.json", in the case's folder of a variant
};

// Lists the reports of a variant that has been judged so far, by step, and within a step by case.
// The first report that is not "ok" is why a candidate is rejected.
std::vector<StepReport> judging_reports(const std::vector<JudgedCase>& cases,
                                        Judged judged = Judged::whole);

// Returns the digest of the device's program from a report of the step lower; null: none is there.
// Reports of earlier versions call that program "tpu".
const nlohmann::json& device_program_of(const nlohmann::json& report);

}  // namespace evolve
