#include "engine/build/build_note.h"

#include <algorithm>
#include <utility>

#include "engine/build/plan.h"
#include "engine/core/packed.h"

namespace evolve {

namespace {

constexpr std::string_view kNoteMagic = "evolve-build-note-2\n";

struct NoteCounts {
  uint64_t files = 0;
  uint64_t about = 0;  // bytes
};

// Collects the files of edges, each once.
class Noting {
 public:
  Noting(const Graph& graph, Lookup& lookup)
      : graph_(graph), lookup_(lookup), seen_(graph.node_count()) {}

  // Adds the files of an edge. False: no note is possible.
  Result<bool> add_edge(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.is_phony()) {
      // A phony edge with no inputs and no validations may stand for a file, or be always new.
      return !edge.inputs.empty() || !edge.validations.empty();
    }
    const auto discovered = lookup_.discovered(id);
    if (!discovered) return false;
    const std::span<const NodeId> order_only = edge.inputs.subspan(edge.content_inputs().size());
    for (auto nodes : {std::span<const NodeId>(edge.outputs), edge.content_inputs(),
                       std::span<const NodeId>(*discovered)}) {
      auto are_noted = add(nodes, Part::of_a_key);
      if (!are_noted || !*are_noted) return are_noted;
    }
    return add(order_only, Part::none);
  }

  BuildNote take() { return std::move(note_); }

 private:
  enum class Part { of_a_key, none };

  Result<bool> add(std::span<const NodeId> nodes, Part part) {
    for (NodeId node : nodes) {
      auto is_noted = add(node, part);
      if (!is_noted || !*is_noted) return is_noted;
    }
    return true;
  }

  Result<bool> add(NodeId node, Part part) {
    if (index(node) >= seen_.size()) seen_.resize(graph_.node_count());
    if (seen_[index(node)]) return true;
    seen_[index(node)] = true;
    const auto maker = graph_.node(node).made_by;
    if (maker && graph_.edge(*maker).is_phony()) return true;
    TRY_ASSIGN(auto state, lookup_.files().look(node));
    if (state && state->content == folder_digest()) return false;
    const auto known = lookup_.files().known_digest(node);
    const auto now = state ? std::optional(state->content) : std::nullopt;
    // A key holds the content that the file had at the look-up, or the fact that it was missing.
    if ((known || part == Part::of_a_key) && known != now) return false;
    note_.files.push_back({graph_.path(node), state});
    return true;
  }

  const Graph& graph_;
  Lookup& lookup_;
  std::vector<bool> seen_;  // by node
  BuildNote note_;
};

}  // namespace

Result<std::optional<BuildNote>> note_of(const Graph& graph, const std::vector<NodeId>& targets,
                                         Lookup& lookup) {
  Noting noting(graph, lookup);
  const BuildPlan plan(graph, targets);
  for (EdgeId id : plan.wanted_edges()) {
    TRY_ASSIGN(auto is_noted, noting.add_edge(id));
    if (!is_noted) return std::optional<BuildNote>{};
  }
  return std::optional(noting.take());
}

Result<bool> still_holds(BuildNote& note, Files& files, bool& is_changed) {
  for (NotedFile& file : note.files) {
    TRY_ASSIGN(auto now, files.look(file.path, file.state ? &*file.state : nullptr));
    const bool is_there = now.has_value();
    if (is_there != file.state.has_value()) return false;
    if (!is_there) continue;
    if (now->content != file.state->content) return false;
    if (now->stamp == file.state->stamp) continue;
    file.state = *now;
    is_changed = true;
  }
  return true;
}

std::string encode(const BuildNote& note) {
  std::vector<FileState> states;
  std::vector<uint32_t> lengths;
  std::string paths;
  states.reserve(note.files.size());
  lengths.reserve(note.files.size());
  for (const NotedFile& file : note.files) {
    states.push_back(file.state.value_or(FileState{}));
    lengths.push_back(static_cast<uint32_t>(file.path.size()));
    paths += file.path;
  }
  const NoteCounts counts = {states.size(), note.about.size()};
  std::string body;
  packed::append(body, std::span(&counts, 1));
  packed::append(body, std::span<const FileState>(states));
  packed::append(body, std::span<const uint32_t>(lengths));
  body += note.about;
  body += paths;
  return packed::sealed(kNoteMagic, body);
}

std::optional<BuildNote> decode_note(std::string_view bytes) {
  const auto body = packed::unsealed(kNoteMagic, bytes);
  if (!body) return std::nullopt;
  packed::Reader reader(*body);
  std::vector<NoteCounts> counts;
  std::vector<FileState> states;
  std::vector<uint32_t> lengths;
  std::string_view about;
  const bool is_whole = reader.take(1, counts) && reader.take(counts[0].files, states) &&
                        reader.take(counts[0].files, lengths) &&
                        reader.take_text(counts[0].about, about);
  if (!is_whole) return std::nullopt;
  BuildNote note;
  note.about = about;
  note.files.reserve(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    std::string_view path;
    if (!reader.take_text(lengths[i], path)) return std::nullopt;
    std::optional<FileState> state;
    if (states[i].content != Digest{}) state = states[i];
    note.files.push_back({std::string(path), state});
  }
  return note;
}

}  // namespace evolve
