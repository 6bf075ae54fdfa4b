// What a generator writes: edges, as a manifest has them.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evolve {

// The paths of the machine that a campaign's manifest binds. Of each there is a second variable,
// "$work_word", which is the path as a word of a shell's command line.
constexpr std::array<std::string_view, 4> kMachinePaths = {"work", "python", "rules", "steps"};

using Bindings = std::vector<std::pair<std::string, std::string>>;

// An edge to be written; paths that begin with '$' are the manifest's own and stay as they are.
// What is bound is written as it is, but for the machine's paths in what commands have: they are
// words. A '|' in a path is "${bar}", which the manifest has to bind.
struct EdgeText {
  std::string rule;
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
  std::vector<std::string> implicit;
  std::vector<std::string> order_only;
  Bindings bindings;
};

// A manifest as it is written.
class ManifestText {
 public:
  // `node_pools` are those of steps that nodes run, by step.
  explicit ManifestText(bool is_sandboxed = true,
                        std::map<std::string, std::string> node_pools = {})
      : is_sandboxed_(is_sandboxed), node_pools_(std::move(node_pools)) {}

  // Lines as they are.
  void comment(const std::string& lines) { text_ += lines; }
  // The edge's build statement, with an empty line before it; its step is its rule.
  void add(const EdgeText& edge);
  // An edge of a step that needs JAX, with these flags: run from its canonical source, by the warm
  // worker where the engine has one, and again where it failed: it ends with other than 0 for a
  // fault alone, never for a verdict, or with 2 where the user's files are wrong. What its files
  // are called does not matter to it.
  void add_python(EdgeText edge, const Bindings& flags);
  // The same of a step that asks what its files are called; `flags` as a command line has them.
  void add_named_python(EdgeText edge, const std::string& flags);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add_warm(EdgeText edge, const std::string& flags, bool is_portable);

  bool is_sandboxed_;
  std::map<std::string, std::string> node_pools_;
  std::string text_;
};

// A path as one word of a shell's command line, in a value of the manifest. One that begins with
// '$' is the manifest's own and stays as it is.
std::string path_word(const std::string& path);

// A path as a value of the manifest that no command reads.
std::string path_value(const std::string& path);

// A text as one word of a shell's command line, and as a value of the manifest.
std::string shell_word(const std::string& text);

}  // namespace evolve
