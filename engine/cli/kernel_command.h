// `evolve kernel check`: whether a kernel's task is worth a campaign.
#pragma once

#include <string>

#include "engine/cli/commands.h"

namespace evolve::cli {

// Audits every check case of the kernel's spec, so that nothing that nobody has to compute passes,
// and has the seed pass every step. `name` is a folder of kernels/, or the path of a spec. The
// state folder, unless named, and the pipeline that this makes lie beside the spec, in .evolve.
Status run_kernel_check(const CommonOptions& common, const std::string& name, int jobs);

}  // namespace evolve::cli
