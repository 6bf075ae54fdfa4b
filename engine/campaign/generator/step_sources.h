// Finds the Python files of a campaign's steps by following their imports. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace evolve {

// Returns the text of a file in the folder of the rules, such as "judge/mosaic.py"; nullopt: no
// such file.
using ReadRules = std::function<std::optional<std::string>(const std::string& file)>;

// Returns the names of three kinds of files: the programs of all Python steps, the modules that
// they import from the packages of the rules, and the files that start them. The names are relative
// to the folder of the rules, in order, each once. The texts are read, and not run, so an import
// counts wherever it is in a text.
std::vector<std::string> step_sources(const ReadRules& read);

}  // namespace evolve
