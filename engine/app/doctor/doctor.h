// `evolve doctor`: whether this machine has what campaigns need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/elsewhere/remote.h"
#include "engine/app/options.h"
#include "engine/core/finding.h"

namespace evolve {

// Examines the installation, Python and its packages, the sandbox, the hardware, the state folder,
// and the remote cache and the cluster if they are used. Works outside of a project, too.
std::vector<Finding> examine(const CampaignFlags& flags, const RemoteSettings& remote);

// What remains of `evolve doctor` when the machine has answered. Amounts are in bytes.
//
// Returns the finding about the disk with the state folder. Missing: a build would fill it at once.
Finding disk_finding(const std::string& folder, uintmax_t available);
// Returns the finding about the memory that all steps share.
Finding memory_finding(double bytes);
// Returns the findings about the sandbox and JAX, by what rules/process/doctor.py printed.
std::vector<Finding> python_findings(const std::string& printed);
// Returns the finding about GPUs, by what `nvidia-smi --query-gpu=name,driver_version
// --format=csv,noheader` printed; nullopt: it could not be run.
Finding gpu_finding(const std::optional<std::string>& printed);

}  // namespace evolve
