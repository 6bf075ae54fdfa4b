// The text of edges in a manifest, as a generator writes it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evolve {

// The variables that a campaign's manifest binds to this machine's paths. Each has a second
// variable, such as "$work_word": the same path as one word of a shell's command line.
constexpr std::array<std::string_view, 4> kMachinePaths = {"work", "python", "rules", "steps"};

using Bindings = std::vector<std::pair<std::string, std::string>>;

// An edge to write. A path that begins with '$' begins with a variable of the manifest and stays
// unchanged. Bindings are written unchanged, except that the machine's paths become shell words in
// a binding that a command uses. A '|' in a path becomes "${bar}", which the manifest has to bind.
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
  // Starts with an empty text. `pod_pools` names the pod pool of each step that runs in one.
  explicit ManifestText(std::map<std::string, std::string> pod_pools = {})
      : node_pools_(std::move(pod_pools)) {}

  // Adds lines to the text, unchanged.
  void comment(const std::string& lines) { text_ += lines; }
  // Adds the edge after an empty line. Its step is the rule's name, unless that is phony.
  void add(const EdgeText& edge);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string> node_pools_;
  std::string text_;
};

// Returns a path as one word of a shell's command line, escaped as a value of the manifest. A path
// that begins with '$' begins with a variable of the manifest and stays unchanged.
std::string path_word(const std::string& path);

// Returns a path, escaped as a value of the manifest but not for the shell.
std::string path_value(const std::string& path);

// Returns a text as one word of a shell's command line, escaped as a value of the manifest.
std::string shell_word(const std::string& text);

}  // namespace evolve
