// The Python files that the steps of a campaign consist of, by their imports. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace evolve {

// Returns the text of a file in the folder of the rules, as "judge/mosaic.py"; nullopt: none.
using ReadRules = std::function<std::optional<std::string>(const std::string& file)>;

// Returns the names of the programs of all Python steps, of what they import from the packages of
// the rules, and of what starts them: relative to the folder of the rules, in order, each once.
// The texts are read, and not run: an import counts wherever it is.
std::vector<std::string> step_sources(const ReadRules& read);

}  // namespace evolve
