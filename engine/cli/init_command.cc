#include "engine/cli/init_command.h"

#include "engine/cli/new_kernel.h"

namespace evolve::cli {

Status run_init(const CommonOptions& common, const InitCommand& command) {
  TRY(check_kernel_name(command.name));
  std::vector<std::string> words = {"--from=" + command.from, "--name=" + command.name};
  for (const std::string& input : command.inputs) words.push_back("--input=" + input);
  TRY_ASSIGN(auto report, write_kernel("init/init.py", std::move(words), kernels_root()));
  say_written(common, report);
  return {};
}

}  // namespace evolve::cli
