// The reader of Ninja manifests: text to Graph. The language is Ninja 1.14, as in its manual.
// Evolve's additions are variables of edges, which stock ninja accepts and ignores.
#pragma once

#include <functional>
#include <string>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

// The version of Ninja whose language this reader accepts. It is compared with a manifest's
// ninja_required_version.
constexpr const char* kNinjaVersion = "1.14.0";

// Returns the text of a file. An error's message is only the reason ("No such file or directory").
using LoadText = std::function<Result<std::string>(const std::string& path)>;

struct ManifestOptions {
  // True: a phony edge that names its output among its inputs is an error when the graph is walked.
  // False: the input is dropped with a warning, because old versions of CMake write such edges.
  bool is_phony_cycle_error = false;
  std::function<void(const std::string& message)> warn = [](const std::string&) {};
};

// Parses the manifest `path` and everything that it includes into `graph`, which must be new. An
// error in a line is bad input: "path:line: what", with the line and a caret below it.
Status parse_manifest(const std::string& path, const LoadText& load, Graph& graph,
                      const ManifestOptions& options = {});

}  // namespace evolve
