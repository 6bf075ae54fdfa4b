// The command line of a step: options of a campaign's types, and the way a step ends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/options/command_line.h"
#include "engine/search/variant.h"

namespace evolve::steps {

using options::CommandLine;

// Declares an option whose value is a variant's id, or a list of ids.
options::Option add_id(CommandLine& line, const std::string& name, VariantId& id,
                       const std::string& help);
options::Option add_ids(CommandLine& line, const std::string& name, std::vector<VariantId>& ids,
                        const std::string& help);

// Parses the arguments, runs the step and returns the process's exit code: 0 for any verdict. An
// error is printed on stderr, and its class gives the exit code.
int run_step(CommandLine& line, int argc, char** argv, const std::function<Status()>& step);

}  // namespace evolve::steps
