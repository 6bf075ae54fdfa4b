#include "engine/build/file_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/core/key.h"

namespace evolve {

namespace {

// Records that builds keep in a folder. The digest of a folder does not depend on them.
constexpr std::array<std::string_view, 3> kRecords = {".evolve", ".ninja_log", ".ninja_deps"};

}  // namespace

FileTable::FileTable(Graph& graph, Files& files, Snapshot& snapshot,
                     std::span<const MachineBinding> machine)
    : graph_(graph),
      files_(files),
      snapshot_(snapshot),
      machine_(machine),
      digests_(graph.node_count()),
      always_new_(graph.node_count()) {}

std::optional<Digest> FileTable::known_digest(NodeId node) const {
  if (index(node) >= digests_.size() || digests_[index(node)] == Digest{}) return std::nullopt;
  return digests_[index(node)];
}

bool FileTable::knows(NodeId node) const {
  return !graph_.node(node).made_by || known_digest(node);
}

void FileTable::set_digest(NodeId node, const Digest& digest) {
  // Some nodes are added late: discovered files, and files that dyndep files name.
  if (index(node) >= digests_.size())
    digests_.resize(std::max(index(node) + 1, graph_.node_count()));
  digests_[index(node)] = digest;
  if (index(node) < discovered_parts_.size()) discovered_parts_[index(node)] = {};
}

Result<std::optional<FileState>> FileTable::look(NodeId node) {
  const Node& file = graph_.node(node);
  const FileState* before = snapshot_.file(node);
  path_.assign(file.path);
  auto state = files_.look(path_, before);
  if (!state) return state;
  // If an output is gone or changed, the note that its edge was up to date no longer holds.
  bool is_other = before != nullptr && (!*state || (*state)->content != before->content);
  if (is_other && file.made_by) snapshot_.forget(*file.made_by);
  if (*state) snapshot_.set_file(node, **state);
  return state;
}

void FileTable::set_state(NodeId node, const FileState& state) {
  snapshot_.set_file(node, state);
  set_digest(node, state.content);
}

Result<Digest> FileTable::digest(NodeId node, EdgeId needed_by) {
  if (auto known = known_digest(node)) return *known;
  TRY_ASSIGN(auto content, source_digest(node));
  if (!content) {
    return bad_input(fmt::format("'{}', needed by '{}', missing and no known rule to make it",
                                 graph_.path(node),
                                 graph_.path(graph_.edge(needed_by).outputs.front())));
  }
  set_digest(node, *content);
  return *content;
}

Result<std::optional<Digest>> FileTable::source_digest(NodeId node) {
  TRY_ASSIGN(auto state, look(node));
  const bool is_folder = state && state->content == folder_digest();
  if (!is_folder) folders_.erase(node);
  if (!graph_.node(node).made_by && !is_folder) note_source(node, state, false);
  if (!state) return std::optional<Digest>{};
  if (state->content != folder_digest() || graph_.node(node).made_by) {
    return std::optional(state->content);
  }
  folders_.insert(node);
  TRY_ASSIGN(auto names, files_.list(graph_.path(node)));
  std::erase_if(names, [](const std::string& name) {
    return std::find(kRecords.begin(), kRecords.end(), name) != kRecords.end();
  });
  return std::optional(digest_of(fmt::format("{}\n", fmt::join(names, "\n"))));
}

bool FileTable::is_always_new(NodeId node) const {
  return index(node) < always_new_.size() && always_new_[index(node)];
}

Status FileTable::settle_phony(EdgeId id) {
  const Edge& edge = graph_.edge(id);
  Hasher hasher;
  bool has_new_input = false;
  for (NodeId input : edge.content_inputs()) {
    TRY_ASSIGN(auto input_digest, digest(input, id));
    hasher.add(input_digest.hex());
    has_new_input = has_new_input || is_always_new(input);
  }
  const bool is_bare = edge.inputs.empty() && edge.validations.empty();
  for (NodeId output : edge.outputs) {
    Result<std::optional<FileState>> file = std::optional<FileState>{};
    if (is_bare) file = look(output);
    if (!file) return std::move(file).error();
    if (*file) hasher.add((*file)->content.hex());
    if (!has_new_input && (!is_bare || *file)) continue;
    if (index(output) >= always_new_.size()) always_new_.resize(graph_.node_count());
    always_new_[index(output)] = true;
  }
  for (NodeId output : edge.outputs) set_digest(output, hasher.digest());
  return {};
}

NodeId FileTable::discovered_node(const std::string& path) {
  // A binding is in the graph under its symbolic name, and is not a file.
  if (is_binding(path, machine_)) return graph_.node(path);
  return graph_.node(machine_path(path, machine_));
}

Result<std::string> FileTable::discovered_value(NodeId node) {
  if (auto known = known_digest(node)) return known->hex();
  const std::string_view path = graph_.node(node).path;
  if (is_binding(path, machine_)) return machine_path(path, machine_);
  TRY_ASSIGN(auto content, source_digest(node));
  if (!content) return std::string("missing");
  // The digest of a made file is known once its edge has ended. A file that exists before that does
  // not count.
  if (!graph_.node(node).made_by) set_digest(node, *content);
  return content->hex();
}

Result<Digest> FileTable::discovered_part(NodeId node) {
  if (index(node) >= discovered_parts_.size()) discovered_parts_.resize(graph_.node_count());
  if (discovered_parts_[index(node)] != Digest{}) return discovered_parts_[index(node)];
  TRY_ASSIGN(auto value, discovered_value(node));
  const std::string path = symbolic_path(graph_.node(node).path, machine_);
  return discovered_parts_[index(node)] = part_digest("discovered", path, value);
}

FileTable::Source FileTable::note_source(NodeId node, const std::optional<FileState>& now,
                                         bool is_strict) {
  auto [known, is_first] = sources_.try_emplace(
      node, Source{.state = now, .first_moment = moment_ + 1, .other_moment = 0});
  Source& source = known->second;
  const std::optional<FileState> before = source.state;
  bool is_other = before.has_value() != now.has_value();
  if (before && now) {
    const bool are_dated = before->changed != 0 && now->changed != 0;
    is_other = before->content != now->content ||
               (is_strict && are_dated && before->changed != now->changed);
  }
  if (is_first || is_other) ++moment_;
  if (is_other) {
    source = {.state = now, .first_moment = source.first_moment, .other_moment = moment_};
    // A folder's digest comes from the names in the folder, which are read when the digest is
    // needed.
    const bool is_folder = now && now->content == folder_digest();
    if (is_folder) folders_.insert(node);
    set_digest(node, now && !is_folder ? now->content : Digest{});
  }
  return source;
}

Result<std::optional<NodeId>> FileTable::changed_since(EdgeId id,
                                                       std::span<const std::string> discovered,
                                                       const Since& since, bool is_strict) {
  auto inputs = graph_.edge(id).content_inputs();
  std::vector<NodeId> read(inputs.begin(), inputs.end());
  for (const std::string& path : discovered) {
    if (!is_binding(path, machine_)) read.push_back(discovered_node(path));
  }
  std::optional<NodeId> changed;
  for (NodeId node : read) {
    // A folder counts as the command left it (forget_folders).
    if (graph_.node(node).made_by || folders_.contains(node)) continue;
    TRY_ASSIGN(auto now, look(node));
    const Source source = note_source(node, now, is_strict);
    // If a path was first looked at after the look-up, only the file's time can show a change.
    const bool is_new = source.first_moment > since.moment && source.state;
    const bool is_other = source.other_moment > since.moment ||
                          (is_strict && is_new && source.state->changed >= since.started);
    if (is_other && !changed) changed = node;
  }
  return changed;
}

bool FileTable::forget_folders(EdgeId id, std::span<const std::string> discovered) {
  if (folders_.empty()) return false;
  bool has_folder = false;
  auto forget = [&](NodeId node) {
    if (!folders_.contains(node)) return;
    set_digest(node, {});
    has_folder = true;
  };
  for (NodeId input : graph_.edge(id).content_inputs()) forget(input);
  for (const std::string& path : discovered) forget(discovered_node(path));
  return has_folder;
}

}  // namespace evolve
