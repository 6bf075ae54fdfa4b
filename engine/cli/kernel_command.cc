#include "engine/cli/kernel_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/cli/report.h"
#include "engine/core/did_you_mean.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

namespace fs = std::filesystem;

// The spec that a name or a path means; below the folder that has the rules.
Result<fs::path> find_spec(const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return fs::absolute(name);
  if (fs::is_regular_file(fs::path(name) / "spec.yaml", error)) {
    return fs::absolute(fs::path(name) / "spec.yaml");
  }
  std::vector<std::string> known;
  for (fs::path folder = fs::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path spec = folder / "kernels" / name / "spec.yaml";
    if (fs::is_regular_file(spec, error)) return spec;
    for (const auto& entry : fs::directory_iterator(folder / "kernels", error)) {
      if (fs::exists(entry.path() / "spec.yaml", error)) {
        known.push_back(entry.path().filename().string());
      }
    }
    if (!known.empty()) break;
  }
  auto near = nearest(name, known);
  return bad_input(fmt::format("kernel '{}': no kernels/{}/spec.yaml here or above{}", name, name,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", "evolve kernel check path/to/spec.yaml");
}

}  // namespace

Status run_kernel_check(const CommonOptions& common, const std::string& name, int jobs) {
  auto spec = find_spec(name);
  if (!spec) return std::move(spec).error();
  const fs::path folder = spec->parent_path() / ".evolve";
  const std::string kernel = fs::weakly_canonical(*spec).parent_path().filename().string();
  const std::string pipeline = (folder / fmt::format("check-{}.yaml", kernel)).string();
  world::DiskFiles files;
  if (auto status = files.make_folders(folder.string()); !status) return status;
  const std::string text = fmt::format(
      "# Made by evolve kernel check.\nkernel: {{ name: {}, spec: \"../{}\" }}\n"
      "session: {{ max_iterations: 1 }}\nbatch: {{ variants_per_round: 1 }}\n",
      kernel, spec->filename().string());
  if (auto status = files.write(pipeline, text); !status) return status;
  CommonOptions own = common;
  own.campaign.pipeline = pipeline;
  if (own.campaign.state.empty()) own.campaign.state = folder.string();
  BuildCommand build;
  build.targets = {"task", "v0000"};
  build.jobs = jobs;
  build.keep_going = 0;
  if (auto status = run_build(own, build); !status) return status;
  if (!common.json) {
    print_out(
        fmt::format("{}: the seed passes, and nothing does that nobody has to compute\n", kernel));
  }
  return {};
}

}  // namespace evolve::cli
