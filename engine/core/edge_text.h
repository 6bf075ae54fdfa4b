// Edges as a manifest has them: what a generator writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evolve {

using Bindings = std::vector<std::pair<std::string, std::string>>;

// An edge to be written; paths that begin with '$' are the manifest's own and stay as they are.
struct EdgeText {
  std::string rule;
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
  std::vector<std::string> implicit;
  std::vector<std::string> order_only;
  Bindings bindings;
};

// The edge's build statement, with an empty line before it; its step is its rule.
std::string edge_text(const EdgeText& edge);

// A text as one word of a shell's command line, and as a value of the manifest.
std::string shell_word(const std::string& text);

}  // namespace evolve
