#include "engine/campaign/generator/step_edge.h"

#include <algorithm>
#include <utility>

namespace evolve {

namespace {

enum class Program { native, python };

struct Step {
  std::string_view name;
  Program program;
  bool is_portable = false;  // names of files do not change its outputs
  bool is_enclosed = false;  // runs or reads a candidate's code or programs
};

constexpr Step kSteps[] = {
    {.name = "spec", .program = Program::native},
    {.name = "expect", .program = Program::python, .is_portable = true},
    {.name = "audit", .program = Program::python, .is_portable = true},
    {.name = "mutate", .program = Program::native},
    {.name = "rewrite", .program = Program::python, .is_enclosed = true},
    {.name = "prompt", .program = Program::native},
    {.name = "exchange", .program = Program::native},
    {.name = "plan", .program = Program::native},
    {.name = "adopt", .program = Program::native},
    {.name = "lower", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "contract", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "novelty", .program = Program::native},
    {.name = "gate", .program = Program::native},
    {.name = "check", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "interpret", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "compile", .program = Program::python, .is_portable = true},
    {.name = "analyze", .program = Program::native, .is_portable = true},
    {.name = "trace", .program = Program::native, .is_portable = true},
    {.name = "measure", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "time", .program = Program::native, .is_portable = true},
    {.name = "cut", .program = Program::native},
    {.name = "race", .program = Program::native},
    {.name = "finalists", .program = Program::native},
    {.name = "values", .program = Program::python, .is_portable = true, .is_enclosed = true},
    {.name = "select", .program = Program::native},
};

// Returns the step of this name. REQUIRES: the step exists.
const Step& step_named(std::string_view name) {
  return *std::find_if(std::begin(kSteps), std::end(kSteps),
                       [&](const Step& step) { return step.name == name; });
}

}  // namespace

StepEdge::StepEdge(std::string step, const std::string& subject) {
  edge_.rule = std::move(step);
  edge_.bindings = {{"subject", subject}};
}

StepEdge& StepEdge::in(std::string_view flag, const std::string& path) {
  return in(flag, {path});
}

StepEdge& StepEdge::in(std::string_view flag, std::initializer_list<std::string> paths) {
  std::string words;
  for (const std::string& path : paths) {
    edge_.inputs.push_back(path);
    words += (words.empty() ? "" : " ") + path_word(path);
  }
  return this->flag(flag, words);
}

StepEdge& StepEdge::out(std::string_view flag, const std::string& path) {
  edge_.outputs.push_back(path);
  return this->flag(flag, path_word(path));
}

StepEdge& StepEdge::after(std::string_view flag, const std::string& path) {
  edge_.order_only.push_back(path);
  return this->flag(flag, path_word(path));
}

StepEdge& StepEdge::in_variable(const std::string& name, const std::string& path) {
  edge_.inputs.push_back(path);
  return set(name, path_word(path));
}

StepEdge& StepEdge::reads(const std::string& path) {
  edge_.inputs.push_back(path);
  return *this;
}

StepEdge& StepEdge::reads(const std::vector<std::string>& paths) {
  edge_.inputs.insert(edge_.inputs.end(), paths.begin(), paths.end());
  return *this;
}

StepEdge& StepEdge::writes(const std::string& path) {
  edge_.outputs.push_back(path);
  return *this;
}

StepEdge& StepEdge::uses(const std::string& path) {
  edge_.implicit.push_back(path);
  return *this;
}

StepEdge& StepEdge::flag(std::string_view name) {
  flags_ += fmt::format("{}--{}", flags_.empty() ? "" : " ", name);
  return *this;
}

StepEdge& StepEdge::set(const std::string& name, const std::string& value) {
  edge_.bindings.emplace_back(name, value);
  return *this;
}

StepEdge& StepEdge::flags_in(const std::string& name) {
  flags_variable_ = name;
  return *this;
}

std::vector<std::string> python_steps() {
  std::vector<std::string> out;
  for (const Step& step : kSteps) {
    if (step.program == Program::python) out.emplace_back(step.name);
  }
  return out;
}

void StepText::add(const StepEdge& edge) {
  const Step& step = step_named(edge.step());
  EdgeText out = edge.edge_;
  if (step.is_portable) out.bindings.emplace_back("portable", "1");
  if (step.program == Program::native) {
    out.implicit.insert(out.implicit.begin(), "$steps/" + edge.step());
    if (!edge.flags_.empty()) out.bindings.emplace_back(edge.flags_variable_, edge.flags_);
    text_.add(out);
    return;
  }
  std::string arguments = fmt::format("$work/rules steps.{} {}", edge.step(), edge.flags_);
  for (const auto& [name, value] : out.bindings) {
    if (name == "depfile") arguments += " --depfile " + value;
  }
  if (step.is_enclosed && !is_sandboxed_) arguments += " --unsafe-no-sandbox";
  out.implicit.push_back(fmt::format("$work/rules/steps/{}.py", edge.step()));
  out.implicit.emplace_back("$work/rules/__main__.py");
  out.order_only.emplace_back("$work/rules/all");
  for (const auto& [name, value] : {std::pair<const char*, std::string>("arguments", arguments),
                                    {"worker", "$python $rules/process/worker.py"},
                                    {"toolchain", "$toolchain"},
                                    {"retries", "3"},
                                    {"final_exit_codes", "2"}}) {
    out.bindings.emplace_back(name, value);
  }
  text_.add(out);
}

void StepText::add_phony(const std::string& name, const std::vector<std::string>& files) {
  text_.add({.rule = "phony", .outputs = {name}, .inputs = files});
}

}  // namespace evolve
