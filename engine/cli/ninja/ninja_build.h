// The build of `evolve ninja`: by content, in the folder that a manifest's `builddir` names.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ninja/options.h"

namespace evolve::cli {

// Reads the manifest into a graph, and lists the files that it consists of, included ones too. An
// exit code: reading failed, and the error was printed.
using ReadManifest =
    std::function<std::optional<int>(Graph& graph, std::vector<std::string>& files)>;

// Builds the targets of the options, the manifest itself first, and returns the exit code.
int build_ninja(const ninja::Options& options, const ReadManifest& read);

}  // namespace evolve::cli
