// The Ninja manifest reader: text to Graph. The language is that of the Ninja manual; what evolve
// needs beyond it stands in edge variables, which stock ninja accepts and ignores.
#pragma once

#include <functional>
#include <string>

#include "engine/core/graph.h"
#include "engine/core/result.h"

namespace evolve {

// Returns the text of a file that a manifest includes.
using LoadText = std::function<Result<std::string>(const std::string& path)>;

// Parses the manifest `path` and all that it includes into `graph`, which must be new. Errors are
// bad input: "path:line: what" with the line and a caret below.
Status parse_manifest(const std::string& path, const LoadText& load, Graph& graph);

}  // namespace evolve
