// `evolve kernel check` and `time`: the check that a kernel's task is worth a campaign, and the
// times of its seed. Also the shared parts of the commands that work on a kernel and need no
// pipeline.
#pragma once

#include <string>

#include "engine/cli/common_options.h"

namespace evolve::cli {

// Returns the path of the spec that `name` means: a path, or a folder of kernels/ here or above.
// Bad input, with `hint`: no such spec.
Result<std::string> find_spec(const std::string& name, const std::string& hint);
// Returns the kernel's name, which is the name of its spec's folder.
std::string kernel_of(const std::string& spec);

// Returns the options for a command's own campaign, and writes its pipeline: NAME.yaml in .evolve
// next to the spec. The state folder, unless named, is that .evolve, too. `settings`: the
// pipeline's lines after the line that names the kernel.
Result<CommonOptions> with_own_pipeline(const CommonOptions& common, const std::string& spec,
                                        const std::string& name, const std::string& settings);

}  // namespace evolve::cli
