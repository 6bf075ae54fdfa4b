// `evolve import FORMAT FILE`: a new kernel from another system's task, and what it came to there.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct ImportCommand {
  std::string format;  // of the task; or the file of a bundle (bundle.h), where there is no other
  std::string file;    // of the task; empty: none was named
  std::string name;    // of the kernel; empty: the task's own
};

// The formats of tasks, by name.
const std::vector<std::string>& task_formats();

// Writes kernels/NAME and pipelines/NAME-v7x.yaml, where `evolve init` would, by
// rules/init/imports.py. Nothing that is there is written over. Of a run directory of Glaucis the
// rounds go to the ledger as they were there, marked as such, and its kernels become proposals:
// what another system measured is history, and no result of a build.
Status run_import_task(const CommonOptions& common, const ImportCommand& command);

}  // namespace evolve::cli
