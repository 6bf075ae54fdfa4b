#include "engine/cli/kernel_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/cli/report.h"
#include "engine/core/did_you_mean.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace fs = std::filesystem;

Result<std::string> find_spec(const std::string& name, const std::string& hint) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return fs::absolute(name).string();
  if (fs::is_regular_file(fs::path(name) / "spec.yaml", error)) {
    return fs::absolute(fs::path(name) / "spec.yaml").string();
  }
  std::vector<std::string> known;
  for (fs::path folder = fs::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path spec = folder / "kernels" / name / "spec.yaml";
    if (fs::is_regular_file(spec, error)) return spec.string();
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
                   "", hint);
}

std::string kernel_of(const std::string& spec) {
  return fs::weakly_canonical(spec).parent_path().filename().string();
}

Result<CommonOptions> with_own_pipeline(const CommonOptions& common, const std::string& spec,
                                        const std::string& name, const std::string& settings) {
  const fs::path folder = fs::path(spec).parent_path() / ".evolve";
  const std::string pipeline = (folder / (name + ".yaml")).string();
  world::DiskFiles files;
  if (auto status = files.make_folders(folder.string()); !status) return std::move(status).error();
  const std::string text =
      fmt::format("# Made by evolve.\nkernel: {{ name: {}, spec: \"../{}\" }}\n{}", kernel_of(spec),
                  fs::path(spec).filename().string(), settings);
  if (auto status = files.write(pipeline, text); !status) return std::move(status).error();
  CommonOptions own = common;
  own.campaign.pipeline = pipeline;
  if (own.campaign.state.empty()) own.campaign.state = folder.string();
  return own;
}

Status run_kernel_check(const CommonOptions& common, const std::string& name, int jobs) {
  auto spec = find_spec(name, "evolve kernel check path/to/spec.yaml");
  if (!spec) return std::move(spec).error();
  const std::string kernel = kernel_of(*spec);
  auto own =
      with_own_pipeline(common, *spec, "check-" + kernel,
                        "session: { max_iterations: 1 }\nbatch: { variants_per_round: 1 }\n");
  if (!own) return std::move(own).error();
  BuildCommand build;
  build.targets = {"task", "v0000"};
  build.jobs = jobs;
  build.keep_going = 0;
  if (auto status = run_build(*own, build); !status) return status;
  if (!common.json) {
    print_out(
        fmt::format("{}: the seed passes, and nothing does that nobody has to compute\n", kernel));
  }
  return {};
}

}  // namespace evolve::cli
