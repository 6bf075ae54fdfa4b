#include "engine/build/snapshot.h"

#include <algorithm>

#include "engine/core/packed.h"

namespace evolve {

namespace {

constexpr std::string_view kSnapshotMagic = "evolve-snapshot-2\n";

// The counts at the start of the stored form, and an edge in the stored form.
struct Counts {
  uint64_t files = 0;
  uint64_t edges = 0;
  uint64_t discovered = 0;
};
struct StoredEdge {
  Digest key;
  uint32_t output = 0;  // the first output's place among the files
  uint32_t discovered = 0;
  float seconds = 0;
  uint32_t reserved = 0;
};

constexpr NodeId kNoNode{-1};

// Returns the node of a stored path. Paths are stored in the order of their nodes, which is the
// order of the manifest. So a path's place usually equals the node's number.
NodeId node_of(Graph& graph, size_t place, std::string_view path, bool is_wanted) {
  if (place < graph.node_count()) {
    const auto same = static_cast<NodeId>(place);
    if (graph.node(same).path == path) return same;
  }
  return is_wanted ? graph.node(path) : graph.find_node(path).value_or(kNoNode);
}

}  // namespace

const FileState* Snapshot::file(NodeId id) const {
  if (index(id) >= files_.size() || files_[index(id)].content == Digest{}) return nullptr;
  return &files_[index(id)];
}

void Snapshot::set_file(NodeId id, const FileState& state) {
  if (index(id) >= files_.size()) files_.resize(std::max(index(id) + 1, files_.size() * 3 / 2));
  if (files_[index(id)] == state) return;
  files_[index(id)] = state;
  is_changed_ = true;
}

std::optional<Snapshot::Settled> Snapshot::edge(EdgeId id) const {
  if (index(id) >= edges_.size() || !edges_[index(id)].is_known) return std::nullopt;
  const Entry& entry = edges_[index(id)];
  return Settled{entry.key, entry.seconds,
                 std::span(discovered_).subspan(entry.first, entry.count)};
}

void Snapshot::set_edge(EdgeId id, const Settled& settled) {
  if (auto old = edge(id); old && old->key == settled.key) return;
  if (index(id) >= edges_.size()) edges_.resize(std::max(index(id) + 1, edges_.size() * 3 / 2));
  Entry& entry = edges_[index(id)];
  entry = {.key = settled.key,
           .seconds = settled.seconds,
           .first = static_cast<uint32_t>(discovered_.size()),
           .count = static_cast<uint32_t>(settled.discovered.size()),
           .is_known = true};
  discovered_.insert(discovered_.end(), settled.discovered.begin(), settled.discovered.end());
  is_changed_ = true;
}

void Snapshot::forget(EdgeId id) {
  if (!edge(id)) return;
  edges_[index(id)].is_known = false;
  is_changed_ = true;
}

std::string Snapshot::encode(const Graph& graph) const {
  std::vector<uint32_t> places(files_.size(), UINT32_MAX);  // by node
  std::vector<FileState> states;
  std::vector<uint32_t> lengths;
  std::string paths;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].content == Digest{}) continue;
    places[i] = static_cast<uint32_t>(states.size());
    states.push_back(files_[i]);
    std::string_view path = graph.node(static_cast<NodeId>(i)).path;
    lengths.push_back(static_cast<uint32_t>(path.size()));
    paths += path;
  }
  auto place_of = [&](NodeId id) {
    return index(id) < places.size() ? places[index(id)] : UINT32_MAX;
  };
  std::vector<StoredEdge> edges;
  std::vector<uint32_t> discovered;
  for (size_t i = 0; i < edges_.size(); ++i) {
    const Entry& entry = edges_[i];
    if (!entry.is_known) continue;
    const size_t first = discovered.size();
    const uint32_t output = place_of(graph.edge(static_cast<EdgeId>(i)).outputs.front());
    for (NodeId node : std::span(discovered_).subspan(entry.first, entry.count)) {
      discovered.push_back(place_of(node));
    }
    const bool is_whole =
        output != UINT32_MAX && std::find(discovered.begin() + static_cast<long>(first),
                                          discovered.end(), UINT32_MAX) == discovered.end();
    if (is_whole) {
      edges.push_back({entry.key, output, entry.count, entry.seconds, 0});
    } else {
      discovered.resize(first);
    }
  }
  std::string body;
  const Counts counts = {states.size(), edges.size(), discovered.size()};
  packed::append(body, std::span(&counts, 1));
  packed::append(body, std::span<const FileState>(states));
  packed::append(body, std::span<const StoredEdge>(edges));
  packed::append(body, std::span<const uint32_t>(discovered));
  packed::append(body, std::span<const uint32_t>(lengths));
  body += paths;
  return packed::sealed(kSnapshotMagic, body);
}

std::optional<Snapshot> Snapshot::decode(std::string_view bytes, Graph& graph) {
  const auto body = packed::unsealed(kSnapshotMagic, bytes);
  if (!body) return std::nullopt;
  packed::Reader reader(*body);
  std::vector<Counts> counts;
  std::vector<FileState> states;
  std::vector<StoredEdge> edges;
  std::vector<uint32_t> discovered, lengths;
  const bool is_whole = reader.take(1, counts) && reader.take(counts[0].files, states) &&
                        reader.take(counts[0].edges, edges) &&
                        reader.take(counts[0].discovered, discovered) &&
                        reader.take(counts[0].files, lengths);
  if (!is_whole) return std::nullopt;
  std::vector<bool> is_discovered(states.size());
  for (uint32_t place : discovered) {
    if (place >= states.size()) return std::nullopt;
    is_discovered[place] = true;
  }
  Snapshot out;
  out.files_.resize(graph.node_count());
  out.edges_.resize(graph.edge_count());
  std::vector<NodeId> nodes(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    std::string_view path;
    if (!reader.take_text(lengths[i], path)) return std::nullopt;
    nodes[i] = node_of(graph, i, path, is_discovered[i]);
    if (nodes[i] != kNoNode) out.set_file(nodes[i], states[i]);
  }
  std::vector<NodeId> found;
  size_t next = 0;
  for (const StoredEdge& stored : edges) {
    if (stored.output >= nodes.size() || stored.discovered > discovered.size() - next) {
      return std::nullopt;
    }
    found.clear();
    for (uint32_t place : std::span(discovered).subspan(next, stored.discovered)) {
      found.push_back(nodes[place]);
    }
    next += stored.discovered;
    const NodeId output = nodes[stored.output];
    if (output == kNoNode) continue;
    auto maker = graph.node(output).made_by;
    if (maker && graph.edge(*maker).outputs.front() == output) {
      out.set_edge(*maker, {stored.key, stored.seconds, found});
    }
  }
  out.is_changed_ = false;
  return out;
}

}  // namespace evolve
