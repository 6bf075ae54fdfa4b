// `evolve init`: a new kernel from a JAX function.
#include <string>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/cli/kernel/new_kernel.h"

namespace evolve::cli {

namespace {

struct InitCommand {
  std::string name;                 // of the kernel: a Python identifier in small letters
  std::string from;                 // FILE:FUNCTION
  std::vector<std::string> inputs;  // "x=bfloat16[M=4096, K=1024]"; empty: the file says
};

// Writes kernels/NAME, here or in the folder above that has kernels, and pipelines/NAME-v7x.yaml
// next to kernels, with rules/init/init.py. Existing files are never overwritten.
Status run_init(const CommonOptions& common, const InitCommand& command) {
  TRY(check_kernel_name(command.name));
  std::vector<std::string> words = {"--from=" + command.from, "--name=" + command.name};
  for (const std::string& input : command.inputs) words.push_back("--input=" + input);
  TRY_ASSIGN(auto report, write_kernel("init.init", std::move(words), kernels_root()));
  say_written(common, report);
  return {};
}

}  // namespace

void add_init(Commands& commands) {
  auto init = commands.add(
      "init", "create a new kernel's spec, reference, seed and pipeline from a JAX function");
  auto options = std::make_shared<InitCommand>();
  init.add("name", options->name, "the new kernel's name: lower-case letters, digits and _")
      .required();
  init.add("--from", options->from, "the JAX function: FILE:FUNCTION").required();
  init.add("--input", options->inputs,
           "one input's name, dtype and shape, for example 'x=bfloat16[M=4096, K=1024]'; "
           "given once for each input, in the function's order (default: the inputs that "
           "the file's function get_inputs returns)")
      .repeated();
  commands.add_folder_and_json(init);
  commands.on(init, [options](const CommonOptions& common) { return run_init(common, *options); });
}

}  // namespace evolve::cli
