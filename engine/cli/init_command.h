// `evolve init`: a new kernel from a JAX function.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct InitCommand {
  std::string name;                 // of the kernel: a Python identifier in small letters
  std::string from;                 // FILE:FUNCTION
  std::vector<std::string> inputs;  // "x=bfloat16[M=4096, K=1024]"; empty: the file says
};

// Writes kernels/NAME, here or in the folder above that has kernels, and pipelines/NAME-v7x.yaml
// beside it, by rules/init/init.py. Nothing that is there is written over.
Status run_init(const CommonOptions& common, const InitCommand& command);

}  // namespace evolve::cli
