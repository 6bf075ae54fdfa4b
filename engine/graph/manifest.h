// The Ninja manifest reader: text to Graph. The language is that of the Ninja manual, 1.14; what
// evolve needs beyond it stands in edge variables, which stock ninja accepts and ignores.
#pragma once

#include <functional>
#include <string>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

// The Ninja whose language this is; compared with a manifest's ninja_required_version.
constexpr const char* kNinjaVersion = "1.14.0";

// Returns the text of a file; the error's message is the reason alone ("No such file or
// directory").
using LoadText = std::function<Result<std::string>(const std::string& path)>;

struct ManifestOptions {
  // A phony edge that names its output among its inputs is an error where the graph is walked; else
  // the input is dropped, with a warning (old CMakes write such edges).
  bool is_phony_cycle_error = false;
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

// Parses the manifest `path` and all that it includes into `graph`, which must be new. Errors are
// bad input: "path:line: what", with the line and a caret below.
Status parse_manifest(const std::string& path, const LoadText& load, Graph& graph,
                      const ManifestOptions& options = {});

}  // namespace evolve
