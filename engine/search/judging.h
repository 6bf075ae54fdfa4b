// The steps that judge a candidate, in their order, and the report that each step writes for a
// case. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// A case, and how it is judged. A bench case is timed. A check case is compared with the reference
// as a whole, and its program also runs in the TPU interpreter. A bench case that is too large to
// be a check case is compared in parts (the step values).
struct JudgedCase {
  std::string name;
  bool is_bench = false;
  bool is_check = false;
  bool must_be_new = false;  // whether near-duplicates are rejected
};

// How far a variant has been judged. A stage begins only if the stages before did not reject the
// variant.
enum class Judged {
  before_checks,   // its programs exist and meet the contract
  before_compile,  // its check cases have been compared, too
  before_times,    // its schedules are known, too
  before_values,   // it has times, too
  whole            // its large timed cases have been compared, too
};

// Returns how far a variant has been judged when a stage begins. The stages are "checks", "compile"
// and "rounds" (the rounds after the seed).
Judged judged_before(std::string_view stage);

struct StepReport {
  std::string step;  // "analyze"
  std::string case_name;
  std::string file;  // "facts.json", in the folder of a variant's case
};

// Lists the reports of a variant that has been judged as far as `judged`, by step, and within a
// step by case. If several reports reject the variant, read_evaluated() chooses the reason.
std::vector<StepReport> judging_reports(const std::vector<JudgedCase>& cases,
                                        Judged judged = Judged::whole);

// Returns the digest of the device's program from a report of the step lower; null: the report has
// no such digest. Reports of earlier versions call that program "tpu".
const nlohmann::json& device_program_of(const nlohmann::json& report);

}  // namespace evolve
