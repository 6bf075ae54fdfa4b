#include "engine/build/scan.h"

#include <set>
#include <utility>

#include "engine/build/dyndeps.h"

namespace evolve {

namespace {

// Finds the edges that are not up to date, in an order in which they could run.
class Scan {
 public:
  Scan(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup, Files& files,
       BlobStore& blobs, const std::function<void(NodeId)>& tell)
      : graph_(graph),
        lookup_(lookup),
        blobs_(blobs),
        plan_(graph, targets),
        dyndeps_(graph, plan_, files, tell) {}

  Result<std::vector<Pending>> run() {
    while (true) {
      TRY(read_dyndeps());
      const auto next = plan_.next_ready();
      if (!next) return std::move(pending_);
      TRY(lookup_.look_ahead(plan_));
      TRY(look_at(*next));
    }
  }

 private:
  // Reads the dyndep files that are up to date by now, before an edge that they extend is looked
  // at.
  Status read_dyndeps() {
    // A dyndep file may add wanted edges, so this list may grow between two calls.
    for (; dyndeps_seen_ < plan_.wanted_edges().size(); ++dyndeps_seen_) {
      const EdgeId id = plan_.wanted_edges()[dyndeps_seen_];
      if (const auto file = graph_.edge(id).dyndep) unread_.insert(*file);
    }
    for (auto at = unread_.begin(); at != unread_.end();) {
      if (!lookup_.files().knows(*at) || absent_.contains(*at)) {
        ++at;
        continue;
      }
      TRY(dyndeps_.read(*at));
      at = unread_.erase(at);
    }
    return {};
  }

  Status look_at(EdgeId id) {
    const Edge& edge = graph_.edge(id);
    if (edge.dyndep && graph_.is_dyndep_loaded(*edge.dyndep)) {
      TRY_ASSIGN(auto waits_for_dyndep, dyndeps_.settle(id));
      if (waits_for_dyndep) return {};
    }
    Pending pending;
    pending.edge = id;
    for (NodeId input : edge.content_inputs()) {
      if (!lookup_.files().knows(input)) pending.dirty_inputs.push_back(input);
    }
    const bool is_known = pending.dirty_inputs.empty();
    if (edge.is_phony()) {
      plan_.finish(id);
      return is_known ? lookup_.files().settle_phony(id) : Status{};
    }
    if (!is_known) {
      plan_.finish(id);
      pending.need = Pending::Need::maybe;
      return add(std::move(pending));
    }
    TRY_ASSIGN(auto is_settled, lookup_.is_settled(id));
    if (is_settled) {
      plan_.finish(id);
      return {};
    }
    TRY_ASSIGN(auto finding, lookup_.find(id));
    if (!finding.unmade.empty()) {
      auto waits = plan_.wait_for(id, finding.unmade);
      if (!waits && !lookup_.results().is_far()) return std::move(waits).error();
      if (waits && *waits) return {};
      // The edges that make these inputs were already looked at, but the bytes of their outputs are
      // not known yet.
      pending.dirty_inputs = finding.unmade;
      pending.need = Pending::Need::maybe;
      plan_.finish(id);
      return add(std::move(pending));
    }
    plan_.finish(id);
    pending.dirty_inputs = finding.dirty;
    return look_at_result(std::move(finding), std::move(pending));
  }

  Status look_at_result(LookedUpEdge finding, Pending pending) {
    const Edge& edge = graph_.edge(pending.edge);
    bool is_stored = finding.result && finding.result->outputs.size() == edge.outputs.size() &&
                     finding.result->has_all_outputs();
    bool is_in_place = is_stored, is_all_absent = true;
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      TRY_ASSIGN(auto there, lookup_.files().look(edge.outputs[i]));
      is_all_absent = is_all_absent && !there;
      if (!there && !pending.missing_output) pending.missing_output = edge.outputs[i];
      if (!is_stored || (there && there->content == finding.result->outputs[i])) continue;
      is_in_place = false;
      TRY_ASSIGN(auto is_blob, blobs_.contains(finding.result->outputs[i]));
      is_stored = is_blob;
    }
    if (!is_stored) {
      TRY_ASSIGN(auto reasons, lookup_.reasons(pending.edge, finding));
      pending.reasons = std::move(reasons);
      return add(std::move(pending));
    }
    for (size_t i = 0; i < edge.outputs.size(); ++i) {
      lookup_.files().set_digest(edge.outputs[i], finding.result->outputs[i]);
    }
    if (is_in_place) {
      return lookup_.settle(pending.edge, *finding.result);
    }
    absent_.insert(edge.outputs.begin(), edge.outputs.end());
    pending.need = Pending::Need::restore;
    pending.hit = Hit{.result = *std::move(finding.result), .is_all_absent = is_all_absent};
    return add(std::move(pending));
  }

  Status add(Pending pending) {
    pending_.push_back(std::move(pending));
    return {};
  }

  Graph& graph_;
  Lookup& lookup_;
  BlobStore& blobs_;
  std::set<NodeId> absent_;  // made files whose digest is known, but that are not in place
  std::set<NodeId> unread_;  // dyndep files
  size_t dyndeps_seen_ = 0;  // wanted edges that read_dyndeps() has seen
  BuildPlan plan_;
  Dyndeps dyndeps_;
  std::vector<Pending> pending_;
};

}  // namespace

Result<std::vector<Pending>> scan(Graph& graph, const std::vector<NodeId>& targets, Lookup& lookup,
                                  Files& files, BlobStore& blobs,
                                  const std::function<void(NodeId)>& tell) {
  if (auto cycle = graph.find_cycle(targets)) return bad_input("dependency cycle: " + *cycle);
  return Scan(graph, targets, lookup, files, blobs, tell).run();
}

Hits take_hits(std::vector<Pending>& pending) {
  Hits out;
  for (Pending& one : pending) {
    if (one.hit) out.emplace(one.edge, *std::exchange(one.hit, std::nullopt));
  }
  return out;
}

}  // namespace evolve
