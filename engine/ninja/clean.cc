#include "engine/ninja/clean.h"

#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "engine/core/path.h"
#include "engine/ninja/messages.h"
#include "engine/ninja/tool_options.h"

namespace evolve::ninja {

namespace {

class Cleaner {
 public:
  explicit Cleaner(const ToolContext& context)
      : graph_(context.graph),
        options_(context.options),
        files_(context.files),
        seen_(graph_.node_count()) {
    // Files that dyndep files name are removed, too. So the dyndep files are read here, before they
    // are removed themselves.
    for (size_t i = 0; i < graph_.edge_count(); ++i) {
      (void)load_dyndep_of(context, static_cast<EdgeId>(i));
    }
    seen_.resize(graph_.node_count());
    if (options_.verbosity == Verbosity::quiet) return;
    fmt::print("Cleaning...{}", is_verbose() ? "\n" : " ");
    std::fflush(stdout);
  }

  void clean_all(bool with_generated) {
    for (size_t i = 0; i < graph_.edge_count(); ++i) {
      auto id = static_cast<EdgeId>(i);
      if (graph_.edge(id).is_phony()) continue;
      if (!with_generated && !graph_.binding(id, "generator").empty()) continue;
      remove_files_of(id);
    }
  }
  void clean_target(const std::string& name) {
    if (name.empty()) return fail("failed to canonicalize '': empty path");
    auto node = graph_.find_node(name);
    if (!node) return fail(fmt::format("unknown target '{}'", canonical_path(name)));
    if (is_verbose()) fmt::print("Target {}\n", graph_.node(*node).path);
    std::vector<NodeId> open = {*node};
    while (!open.empty()) {
      NodeId next = open.back();
      open.pop_back();
      if (seen_[index(next)]) continue;
      seen_[index(next)] = true;
      auto maker = graph_.node(next).made_by;
      if (!maker) continue;
      const Edge& edge = graph_.edge(*maker);
      if (!edge.is_phony()) remove_files_of(*maker);
      open.insert(open.end(), edge.inputs.rbegin(), edge.inputs.rend());
    }
  }
  void clean_rule(const std::string& name) {
    if (graph_.root_scope().find_rule(name) == nullptr) {
      return fail(fmt::format("unknown rule '{}'", name));
    }
    if (is_verbose()) fmt::print("Rule {}\n", name);
    for (size_t i = 0; i < graph_.edge_count(); ++i) {
      auto id = static_cast<EdgeId>(i);
      if (graph_.edge(id).rule->name == name) remove_files_of(id);
    }
  }
  void clean_dead(const std::vector<EdgeRecord>& records) {
    for (const EdgeRecord& record : records) {
      if (!graph_.find_node(record.output)) remove(record.output);
    }
  }
  int end() {
    if (options_.verbosity != Verbosity::quiet) fmt::print("{} files.\n", count_);
    return exit_code_;
  }

 private:
  [[nodiscard]] bool is_verbose() const {
    return options_.verbosity == Verbosity::verbose || options_.dry_run;
  }

  void fail(const std::string& message) {
    print_error(message);
    exit_code_ = 1;
  }
  // Removes the outputs of one command together, and with them its depfile and response file.
  void remove_files_of(EdgeId id) {
    for (NodeId output : graph_.edge(id).outputs) remove(graph_.path(output));
    for (const char* name : {"depfile", "rspfile"}) {
      std::string path = graph_.binding(id, name, Graph::Quoting::none);
      if (!path.empty()) remove(path);
    }
  }
  void remove(const std::string& path) {
    if (!removed_.insert(path).second) return;
    auto there = files_.digest(path);
    if (!there) return fail(there.error().message);
    if (!*there) return;
    if (!options_.dry_run) {
      if (auto status = files_.remove(path); !status) return fail(status.error().message);
    }
    ++count_;
    if (is_verbose()) fmt::print("Remove {}\n", path);
  }

  const Graph& graph_;
  const Options& options_;
  Files& files_;
  std::vector<bool> seen_;
  std::set<std::string> removed_;
  int count_ = 0;
  int exit_code_ = 0;
};

}  // namespace

int clean(const ToolContext& context, const std::vector<std::string>& arguments) {
  bool with_generated = false, by_rule = false;
  auto names = read_tool_flags(arguments, {{'g', &with_generated}, {'r', &by_rule}});
  if (!names) {
    fmt::print(
        "usage: ninja -t clean [options] [targets]\n\noptions:\n"
        "  -g     also clean files marked as ninja generator output\n"
        "  -r     interpret targets as a list of rules to clean instead\n");
    return 1;
  }
  if (by_rule && names->empty()) {
    print_error("expected a rule to clean");
    return 1;
  }
  Cleaner cleaner(context);
  if (names->empty()) cleaner.clean_all(with_generated);
  for (const std::string& name : *names) {
    if (by_rule) {
      cleaner.clean_rule(name);
    } else {
      cleaner.clean_target(name);
    }
  }
  return cleaner.end();
}

int clean_dead(const ToolContext& context, const std::vector<std::string>&) {
  auto records = context.last_records();
  if (!records) {
    print_error(records.error().message);
    return 1;
  }
  Cleaner cleaner(context);
  cleaner.clean_dead(*records);
  return cleaner.end();
}

}  // namespace evolve::ninja
