// `evolve kernel check` and `time`: whether a kernel's task is worth a campaign, and where its seed
// stands. And what commands on a kernel have in common, which need no pipeline.
#pragma once

#include <string>

#include "engine/cli/common_options.h"

namespace evolve::cli {

// The path of the spec that a name, a folder of kernels/ here or above, or a path means. Bad input,
// with `hint`: there is none.
Result<std::string> find_spec(const std::string& name, const std::string& hint);
// The kernel's name: that of the folder which its spec lies in.
std::string kernel_of(const std::string& spec);

// The options of a campaign of a command's own: NAME.yaml in .evolve beside the spec, which this
// writes; the state folder, unless named, is there, too. `settings` are the pipeline's lines
// behind that which names the kernel.
Result<CommonOptions> with_own_pipeline(const CommonOptions& common, const std::string& spec,
                                        const std::string& name, const std::string& settings);

}  // namespace evolve::cli
