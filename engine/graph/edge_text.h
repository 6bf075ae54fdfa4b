// The text of edges in a manifest, as a generator writes it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evolve {

// The variables for this machine's paths that a campaign's manifest binds. Each has a second
// variable, such as "$work_word": the same path as one word of a shell's command line.
constexpr std::array<std::string_view, 4> kMachinePaths = {"work", "python", "rules", "steps"};

using Bindings = std::vector<std::pair<std::string, std::string>>;

// An edge to write. A path that begins with '$' begins with a variable of the manifest and stays
// unchanged. Bindings are written unchanged, except that the machine's paths become shell words in
// parts of a command. A '|' in a path becomes "${bar}", which the manifest has to bind.
struct EdgeText {
  std::string rule;
  std::vector<std::string> outputs = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> implicit = {};
  std::vector<std::string> order_only = {};
  Bindings bindings = {};
};

// The text of a manifest, built edge by edge.
class ManifestText {
 public:
  // `pod_pools`: by step, the node pool that runs the step.
  explicit ManifestText(std::map<std::string, std::string> pod_pools = {})
      : node_pools_(std::move(pod_pools)) {}

  // Adds lines unchanged.
  void comment(const std::string& lines) { text_ += lines; }
  // Adds the edge's build statement after an empty line. The rule's name becomes the edge's step.
  void add(const EdgeText& edge);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string> node_pools_;
  std::string text_;
};

// Returns a path as one word of a shell's command line, escaped as a value of the manifest. A path
// that begins with '$' begins with a variable of the manifest and stays unchanged.
std::string path_word(const std::string& path);

// Returns a path as a value of the manifest that no command reads.
std::string path_value(const std::string& path);

// Returns a text as one word of a shell's command line, escaped as a value of the manifest.
std::string shell_word(const std::string& text);

}  // namespace evolve
