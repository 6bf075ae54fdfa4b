// `evolve propose`, `evolve edit` and `evolve round`: how a person, or a program in a person's
// place, proposes the variants that a pipeline leaves to them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cli/commands.h"

namespace evolve::cli {

struct ProposeCommand {
  std::string file;     // the kernel; "-": stdin
  std::string variant;  // whose place it takes; empty: the first that is open
  std::string note;
  std::vector<std::string> parents;   // empty: as the file says, or else the place's own
  std::optional<std::string> passed;  // no kernel, and why
  bool replace = false;               // what was proposed before
};

// Checks the kernel, and puts it into the campaign's folder of proposals.
Status run_propose(const CommonOptions& common, const ProposeCommand& command);
// Opens an editor ($VISUAL, $EDITOR, or vi) on a variant's kernel, and proposes what was made of
// it. What cannot be proposed is kept, and its place said.
Status run_edit(const CommonOptions& common, const std::string& variant, ProposeCommand command);

struct RoundCommand {
  std::string round;
  bool waits = true;  // until something is proposed for every place, and every plan decided on
};
// Builds the round before and the round's plans, says whose kernels are wanted and of which parent,
// and which plans wait for a word, and waits for both.
Status run_round_open(const CommonOptions& common, const BuildCommand& build,
                      const RoundCommand& command, int round);
// Gives up the places that are open, and rejects the plans that wait.
Status run_round_close(const CommonOptions& common, int round);

}  // namespace evolve::cli
