// `evolve tune`: the best block sizes of a kernel, for each bucket of its bench cases' sizes.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct TuneCommand {
  std::string kernel;              // a folder of kernels/, or the path of a spec
  std::vector<std::string> cases;  // of its bench cases; empty: all
  int rounds = 2;
  int variants = 8;  // a round
};

// A campaign of the spec's parameters alone for each bucket; writes what each found into the
// tuned.json beside the spec (kernels/tuned.py), where other buckets' entries stay. The pipelines
// that this makes, and the state folder unless named, lie beside the spec, in .evolve.
Status run_tune(const CommonOptions& common, const BuildCommand& build, const TuneCommand& tune);

}  // namespace evolve::cli
