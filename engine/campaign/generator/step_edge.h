// Edges of a campaign's manifest: a step with the files that it reads and writes.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/edge_text.h"

namespace evolve {

// The edge of a step. One call names a file: it puts the file into the edge and, if the file has a
// flag, also into the step's command line. So no input of a command can be missing in the graph.
// Flags and files keep the order of the calls.
class StepEdge {
 public:
  // `subject`: the name of the edge in messages.
  StepEdge(std::string step, const std::string& subject);

  // Adds an input, and the flag that names it.
  StepEdge& in(std::string_view flag, const std::string& path);
  // Adds several inputs behind one flag.
  StepEdge& in(std::string_view flag, std::initializer_list<std::string> paths);
  // Adds an output, and the flag that names it.
  StepEdge& out(std::string_view flag, const std::string& path);
  // Adds a file that must exist but is not in the key, and the flag that names it.
  StepEdge& after(std::string_view flag, const std::string& path);
  // Adds an input that a variable of the edge names, for rules whose command has that variable.
  StepEdge& in_variable(const std::string& name, const std::string& path);
  // Add inputs or outputs without a flag. The step finds them next to a file that a flag names, or
  // in a folder that a flag names.
  StepEdge& reads(const std::string& path);
  StepEdge& reads(const std::vector<std::string>& paths);
  StepEdge& writes(const std::string& path);
  // Adds an input that belongs to the step's program.
  StepEdge& uses(const std::string& path);

  // Adds a flag without a file. A path in a value must be written by path_word().
  StepEdge& flag(std::string_view name);
  template <typename Value>
  StepEdge& flag(std::string_view name, const Value& value) {
    return flag(fmt::format("{} {}", name, value));
  }
  // Sets a variable of the edge.
  StepEdge& set(const std::string& name, const std::string& value);
  // Puts the flags into this variable, for rules whose command has it; "flags" by default.
  StepEdge& flags_in(const std::string& name);

  [[nodiscard]] const std::string& step() const { return edge_.rule; }
  [[nodiscard]] const std::vector<std::string>& inputs() const { return edge_.inputs; }
  [[nodiscard]] const std::vector<std::string>& outputs() const { return edge_.outputs; }
  [[nodiscard]] const std::vector<std::string>& used() const { return edge_.implicit; }

 private:
  friend class StepText;

  EdgeText edge_;
  std::string flags_;
  std::string flags_variable_ = "flags";
};

// Returns the names of the steps that are Python programs.
std::vector<std::string> python_steps();

// The text of a campaign's manifest, built edge by edge.
class StepText {
 public:
  // `is_sandboxed`: candidates run in the sandbox. `pod_pools`: by step, the pool that runs the
  // step.
  StepText(bool is_sandboxed, std::map<std::string, std::string> pod_pools)
      : text_(std::move(pod_pools)), is_sandboxed_(is_sandboxed) {}

  void comment(const std::string& lines) { text_.comment(lines); }
  void add(const EdgeText& edge) { text_.add(edge); }
  // Adds a step's edge. A C++ step is a program of its own. A Python step runs from its canonical
  // source, in the warm worker if the engine has one. A Python step that fails runs again, except
  // after status 2, which means that the user's files are wrong. Any other status of failure means
  // a fault, never a verdict.
  void add(const StepEdge& edge);
  // Adds a phony edge: `name` stands for all of `files`.
  void add_phony(const std::string& name, const std::vector<std::string>& files);

  [[nodiscard]] const std::string& text() const { return text_.text(); }

 private:
  ManifestText text_;
  bool is_sandboxed_;
};

}  // namespace evolve
