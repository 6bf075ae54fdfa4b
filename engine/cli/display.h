// The display of commands' progress on this terminal.
#pragma once

#include <unistd.h>

#include "engine/cli/common_options.h"
#include "engine/replay/rerun.h"
#include "engine/report/progress.h"
#include "engine/report/terminal.h"

namespace evolve::cli {

// Returns the display for runs of recorded rounds, whose progress is shown only on a terminal.
inline Display rerun_display(const CommonOptions& common) {
  const bool is_live = is_terminal(STDERR_FILENO) && !common.json;
  return {is_live ? ProgressStyle::live : ProgressStyle::quiet, common.color};
}

}  // namespace evolve::cli
