// `evolve kernel check` and `time`: whether a kernel's task is worth a campaign, and where its seed
// stands. And what commands on a kernel have in common, which need no pipeline.
#pragma once

#include <string>

#include "engine/cli/commands.h"

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

// Audits every check case of the kernel's spec, so that no trivial answer passes,
// and has the seed pass every step.
Status run_kernel_check(const CommonOptions& common, const std::string& name, int jobs);

// Checks the kernel likewise, and says how long its seed and the XLA baseline take, what share of
// the roofline that is, how busy units are and what bounds it. `writes`: into the README beside the
// spec, too, between two comments, or at its end where they are missing.
Status run_kernel_time(const CommonOptions& common, const std::string& name, int jobs, bool writes);

}  // namespace evolve::cli
