// Step spec: the kernel's spec.yaml as the JSON files that the other steps read.
#include "engine/campaign/spec.h"

#include <filesystem>

#include "engine/steps/step.h"

namespace {

using namespace evolve;

Status write_case(const Spec& spec, const Case& one, const std::string& out_dir) {
  std::string folder = out_dir + "/cases/" + one.name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return external(fmt::format("mkdir '{}': {}", folder, error.message()));
  if (auto status = world::write_file_atomic(folder + "/signature.json", signature_json(spec, one));
      !status) {
    return status;
  }
  if (auto status = world::write_file_atomic(folder + "/tolerance.json", tolerance_json(spec));
      !status) {
    return status;
  }
  if (auto status = world::write_file_atomic(folder + "/terms.json", terms_json(spec, one));
      !status) {
    return status;
  }
  return world::write_file_atomic(folder + "/cost.json", cost_json(spec, one));
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("spec", "convert spec.yaml to the JSON files that the steps read");
  std::string spec_path, out_dir;
  std::vector<std::string> timed;
  line.add("--spec", spec_path, "the kernel's spec.yaml").required();
  line.add("--out-dir", out_dir,
           "folder for spec.json and cases/NAME/{signature,tolerance,terms,cost}.json")
      .required();
  line.add("--time", timed, "the bench cases to time (default: all)").separated();
  return steps::run_step(line, argc, argv, [&]() -> Status {
    TRY_ASSIGN(auto text, world::read_file(spec_path));
    TRY_ASSIGN(auto spec, parse_spec(text, spec_path));
    if (!timed.empty()) {
      TRY(time_only(spec, timed));
    }
    for (const Case& one : spec.cases) {
      TRY(write_case(spec, one, out_dir));
    }
    return world::write_file_atomic(out_dir + "/spec.json", spec_json(spec));
  });
}
