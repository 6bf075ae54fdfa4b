#include "engine/build/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/core/outside_json.h"
#include "engine/graph/depfile.h"

namespace evolve {

namespace {

// Returns the last `count` lines of a text, to print below an error.
std::string last_lines(const std::string& text, size_t count) {
  size_t start = text.size();
  while (start > 0 && count > 0) {
    size_t newline = start >= 2 ? text.rfind('\n', start - 2) : std::string::npos;
    start = newline == std::string::npos ? 0 : newline + 1;
    --count;
  }
  return text.substr(start);
}

}  // namespace

Result<ActionResult> Collector::collect(EdgeId id, const LookedUpEdge& finding,
                                        Completed& completed) {
  TRY_ASSIGN(auto discovered, read_discovered(id, completed));
  if (completed.exit_status != 0 || completed.timed_out) return command_error(id, completed);
  ActionResult result;
  result.discovered = std::move(discovered);
  result.output = completed.output;
  result.seconds = completed.seconds;
  result.paid_by = lookup_.keys().record_name(id);
  result.built_at = clock_.utc();
  result.built_on = completed.machine.empty() ? rules_.machine : completed.machine;
  for (NodeId output : graph_.edge(id).outputs) {
    TRY_ASSIGN(auto digest, store_output(id, output));
    result.outputs.push_back(digest);
  }
  if (links_ != nullptr) {
    TRY_ASSIGN(auto links, find_links(id, result.discovered));
    result.links = std::move(links);
  }
  if (!rules_.are_strict) {
    TRY(find_machine_paths(id, result));
  }
  TRY_ASSIGN(auto declared, lookup_.keys().declared_after(id, finding.declared, result.discovered));
  result.declared_key = declared.key();
  TRY_ASSIGN(auto full, lookup_.keys().full(id, declared, result.discovered));
  result.key = full.key();
  result.parts = full.parts();
  TRY_ASSIGN(auto verdict, read_verdict(id));
  result.verdict = std::move(verdict);
  return result;
}

Result<Digest> Collector::store_output(EdgeId id, NodeId output) {
  TRY_ASSIGN(auto state, lookup_.files().look(output));
  if (!state && rules_.are_strict) {
    return failed(
        fmt::format("{}: the command did not write '{}'", first_output(id), graph_.path(output)));
  }
  if (!state) return missing_digest();
  const Digest content = state->content;
  if (content == folder_digest()) return content;
  TRY(blobs_.put_file(graph_.path(output), content));
  return content;
}

Result<std::vector<OutputLink>> Collector::find_links(EdgeId id,
                                                      const std::vector<std::string>& discovered) {
  std::vector<std::string> names;
  for (NodeId input : graph_.edge(id).content_inputs()) names.push_back(graph_.path(input));
  for (const std::string& input : discovered)
    names.push_back(machine_path(input, lookup_.keys().machine()));
  std::vector<OutputLink> out;
  auto outputs = graph_.edge(id).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& path = graph_.path(outputs[i]);
    TRY_ASSIGN(auto link, links_->look(path, names));
    names.push_back(path);
    if (!link) continue;
    const bool is_hard = link->is_hard;
    std::string target = (std::move(link))->target;
    if (is_hard) target = symbolic_path(target, lookup_.keys().machine());
    out.push_back({i, std::move(target), is_hard});
  }
  return out;
}

Status Collector::find_machine_paths(EdgeId id, ActionResult& result) {
  auto note = [&](std::string_view bytes) {
    for (const MachineBinding& binding : lookup_.keys().machine()) {
      const std::string name = "$" + binding.name;
      auto& known = result.discovered;
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (bytes.find(binding.value) != std::string_view::npos) known.push_back(name);
    }
  };
  note(result.output);
  for (const OutputLink& link : result.links) {
    if (!link.is_hard) note(link.target);
  }
  auto outputs = graph_.edge(id).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (result.outputs[i] == missing_digest() || result.outputs[i] == folder_digest()) continue;
    TRY_ASSIGN(auto bytes, files_.read(graph_.path(outputs[i])));
    note(bytes);
  }
  return {};
}

std::string Collector::first_output(EdgeId id) const {
  return graph_.path(graph_.edge(id).outputs.front());
}

Error Collector::command_error(EdgeId id, const Completed& completed) const {
  constexpr size_t kLines = 20;
  std::string what = completed.timed_out ? "command timed out"
                     : completed.exit_status > 128
                         ? fmt::format("command died of signal {}", completed.exit_status - 128)
                         : fmt::format("command exited with {}", completed.exit_status);
  Error error =
      failed(fmt::format("{}: {} after {:.1f} s", first_output(id), what, completed.seconds));
  error.detail = fmt::format("  command: {}", graph_.binding(id, "command"));
  std::string output = last_lines(completed.output, kLines);
  while (output.ends_with('\n')) output.pop_back();
  if (!output.empty()) error.detail += "\n" + output;
  return error;
}

Result<std::vector<std::string>> Collector::read_discovered(EdgeId id, Completed& completed) {
  std::vector<std::string> inputs;
  const std::string kind = graph_.binding(id, "deps");
  if (kind == "msvc") {
    auto shown = parse_show_includes(completed.output, graph_.binding(id, "msvc_deps_prefix"));
    completed.output = std::move(shown.output);
    inputs = std::move(shown.inputs);
  }
  if (completed.exit_status != 0 || completed.timed_out) return inputs;
  if (kind != "msvc") {
    auto read = read_depfile(id, kind);
    if (!read) return read;
    inputs = *std::move(read);
  }
  std::erase_if(inputs, [&](const std::string& input) {
    auto node = graph_.find_node(input);
    auto declared = graph_.edge(id).content_inputs();
    return node && std::find(declared.begin(), declared.end(), *node) != declared.end();
  });
  for (std::string& input : inputs) input = symbolic_path(input, lookup_.keys().machine());
  return inputs;
}

Result<std::vector<std::string>> Collector::read_depfile(EdgeId id, const std::string& kind) {
  const std::string path = graph_.binding(id, "depfile", Graph::Quoting::none);
  if (!kind.empty() && kind != "gcc") return failed(fmt::format("unknown deps type '{}'", kind));
  if (path.empty() && kind == "gcc") {
    return failed("edge with deps=gcc but no depfile makes no sense");
  }
  if (path.empty()) return std::vector<std::string>{};
  TRY_ASSIGN(auto there, files_.digest(path));
  if (!there && rules_.are_strict) {
    return failed(
        fmt::format("{}: the command did not write its depfile '{}'", first_output(id), path));
  }
  if (!there) return std::vector<std::string>{};
  TRY_ASSIGN(auto text, files_.read(path));
  auto depfile = parse_depfile(text);
  // As in Ninja, the outputs in a depfile are checked only without `deps`, because with `deps` a
  // compiler may name an output differently.
  if (depfile && kind.empty()) {
    if (auto status = check_depfile(id, *depfile); !status) depfile = std::move(status).error();
  }
  if (!depfile) {
    const std::string& why = depfile.error().message;
    return failed(kind.empty() ? fmt::format("{}: {}", path, why) : why);
  }
  if (kind == "gcc" && !rules_.keep_depfile) {
    TRY(files_.remove(path));
  }
  return std::move(depfile->inputs);
}

Status Collector::check_depfile(EdgeId id, const Depfile& depfile) const {
  if (depfile.outputs.empty() || depfile.outputs.front() != first_output(id)) return {};
  auto declared = graph_.edge(id).outputs;
  for (const std::string& output : depfile.outputs) {
    const auto node = graph_.find_node(output);
    if (node && std::find(declared.begin(), declared.end(), *node) != declared.end()) continue;
    return bad_input(
        fmt::format("depfile mentions '{}' as an output, but no such output was declared", output));
  }
  return {};
}

Result<std::string> Collector::read_verdict(EdgeId id) {
  std::string path = graph_.extension(id, "report");
  if (path.empty()) return std::string();
  TRY_ASSIGN(auto text, files_.read(path));
  auto report = json_or_null(text);
  if (!report.is_object() || !report.contains("verdict") || !report["verdict"].is_string()) {
    return failed(fmt::format("{}: the report has no verdict", path));
  }
  return report["verdict"].get<std::string>();
}

}  // namespace evolve
