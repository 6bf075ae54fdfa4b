// `evolve doctor`: reports whether this machine has what campaigns need.
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/doctor/doctor.h"
#include "engine/cli/commands.h"
#include "engine/report/findings_text.h"

namespace evolve::cli {

namespace {

// Prints a line for each finding. Failed: something is missing.
Status run_doctor(const CommonOptions& common) {
  const auto findings = examine(common, {});
  print_result(common, {{"version", EVOLVE_VERSION}, {"findings", findings_json(findings)}},
               findings_text(findings));
  return findings_status(findings, "doctor", "campaigns cannot run here");
}

}  // namespace

void add_doctor(Commands& commands) {
  auto command = commands.add(
      "doctor", "report whether this machine has what campaigns need, and what is missing");
  commands.add_common(command);
  commands.on(command, run_doctor);
}

}  // namespace evolve::cli
