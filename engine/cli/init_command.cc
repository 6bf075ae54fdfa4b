#include "engine/cli/init_command.h"

#include "engine/cli/new_kernel.h"

namespace evolve::cli {

Status run_init(const CommonOptions& common, const InitCommand& command) {
  if (auto status = check_kernel_name(command.name); !status) return status;
  std::vector<std::string> words = {"--from=" + command.from, "--name=" + command.name};
  for (const std::string& input : command.inputs) words.push_back("--input=" + input);
  auto report = write_kernel("init/init.py", std::move(words), kernels_root());
  if (!report) return std::move(report).error();
  say_written(common, *report);
  return {};
}

}  // namespace evolve::cli
