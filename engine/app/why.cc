#include "engine/app/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/app/models_file.h"
#include "engine/build/plan.h"
#include "engine/core/crypto/content.h"
#include "engine/core/machine_paths.h"

namespace evolve {

namespace {

constexpr int kNearestOf = 200;  // past results to compare with an edge that has no history

// Drops pairs of parts (one gone, one new) with the same value, because such a pair is a renamed
// file.
void drop_renames(std::vector<KeyChange>& changes) {
  for (size_t i = 0; i < changes.size();) {
    const auto twin = std::find_if(changes.begin(), changes.end(), [&](const KeyChange& other) {
      return !changes[i].before && !other.after && other.tag == changes[i].tag &&
             other.before == changes[i].after;
    });
    if (twin == changes.end()) {
      ++i;
      continue;
    }
    const auto at = static_cast<size_t>(twin - changes.begin());
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(std::max(at, i)));
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(std::min(at, i)));
    i = 0;
  }
}

// Returns the text by which groups are sorted: results of builds here by the build's number, and
// after them results from elsewhere by machine.
std::string place_of(const ResultOrigin& origin) {
  return origin.build ? fmt::format("{:09}", origin.build->id) : "~" + origin.built_on;
}

void add_to_group(StoredEdges& group, const std::string& step, ResultOrigin origin) {
  if (++group.count == 1) {
    group.step = step;
    group.origin = std::move(origin);
    return;
  }
  group.origin.seconds += origin.seconds;
  group.origin.paid_by.clear();
  group.origin.built_at = std::min(group.origin.built_at, origin.built_at);
}

}  // namespace

Why::Why(OpenCampaign& opened, const std::vector<NodeId>& targets)
    : opened_(opened),
      graph_(*opened.graph),
      machine_(opened.campaign.machine()),
      targets_(targets),
      lookup_(graph_, opened.state->files, *opened.state->memo, *opened.state->ledger, snapshot_,
              {machine_, process_environment()}) {}

Result<bool> Why::would_run() {
  TRY_ASSIGN(auto found, look());
  return std::any_of(found.begin(), found.end(),
                     [](const Pending& one) { return one.need != Pending::Need::restore; });
}

Result<std::vector<PendingEdge>> Why::pending() {
  TRY_ASSIGN(auto found, look());
  std::vector<PendingEdge> out;
  for (const Pending& one : found) {
    TRY_ASSIGN(auto edge, explain(one));
    out.push_back(std::move(edge));
    seen_.insert(one.edge);
  }
  found_ = std::move(found);
  return out;
}

Result<std::string> Why::asked_again() {
  TRY_ASSIGN(auto asked, evolve::asked_again(opened_.campaign, graph_, found_, *opened_.state));
  return text_of(asked);
}

Result<Explanation> Why::explanation() {
  Explanation out;
  TRY_ASSIGN(out.pending, pending());
  TRY_ASSIGN(out.stored, stored());
  TRY_ASSIGN(out.last_build, last_build());
  return out;
}

Result<std::vector<StoredEdges>> Why::stored() {
  std::map<std::pair<std::string, std::string>, StoredEdges> groups;
  const BuildPlan plan(graph_, targets_);
  for (EdgeId id : plan.wanted_edges()) {
    if (graph_.edge(id).is_phony() || seen_.contains(id)) continue;
    TRY_ASSIGN(auto last, opened_.state->ledger->last_record(lookup_.keys().record_name(id)));
    if (!last) continue;
    TRY_ASSIGN(auto origin, origin_of(last->result));
    const std::string step = graph_.extension(id, "step");
    StoredEdges& group = groups[{place_of(origin), step}];
    add_to_group(group, step, std::move(origin));
  }
  std::vector<StoredEdges> out;
  out.reserve(groups.size());
  for (auto& [name, group] : groups) out.push_back(std::move(group));
  return out;
}

Result<std::optional<LastBuild>> Why::last_build() {
  auto& ledger = *opened_.state->ledger;
  TRY_ASSIGN(auto builds, ledger.builds().list(opened_.campaign.name));
  if (builds.empty()) return std::optional<LastBuild>();
  const auto& last = builds.front();
  TRY_ASSIGN(auto edges, ledger.builds().edges(last.id));
  const BuildPlan plan(graph_, targets_);
  const std::set<EdgeId> wanted(plan.wanted_edges().begin(), plan.wanted_edges().end());
  // Rows are in the manifest's order, because the order in which edges ended is chance. Edges that
  // are no longer in the manifest come last.
  std::vector<std::pair<std::optional<EdgeId>, const EdgeRecord*>> ended;
  for (const EdgeRecord& edge : edges) {
    if (edge.outcome == Outcome::hit || edge.outcome == Outcome::joined) continue;
    const auto node = graph_.find_node(machine_path(edge.output, machine_));
    const auto id = node ? graph_.node(*node).made_by : std::nullopt;
    if (!id || wanted.contains(*id)) ended.emplace_back(id, &edge);
  }
  std::stable_sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    return a.first && (!b.first || *a.first < *b.first);
  });
  LastBuild out = {.id = last.id,
                   .started = last.started,
                   .targets = last.targets,
                   .outcome = last.outcome.empty() ? "did not end" : last.outcome};
  for (const auto& [id, record] : ended) {
    const EdgeRecord& edge = *record;
    TRY_ASSIGN(auto reasons, past_reasons(edge, id, last.id));
    out.edges.push_back({.output = edge.output,
                         .step = edge.step,
                         .subject = id ? graph_.extension(*id, "subject") : edge.output,
                         .outcome = edge.outcome,
                         .seconds = edge.result.seconds,
                         .reasons = std::move(reasons)});
  }
  return std::optional(std::move(out));
}

Result<std::vector<Pending>> Why::look() {
  TRY_ASSIGN(auto answered, models_keys(opened_.campaign, *opened_.state));
  lookup_.results().confirm(std::move(answered));
  return scan(graph_, targets_, lookup_, opened_.state->files, *opened_.state->blobs);
}

Result<PendingEdge> Why::explain(const Pending& edge) {
  PendingEdge out = {.output = graph_.path(graph_.edge(edge.edge).outputs.front()),
                     .step = graph_.extension(edge.edge, "step"),
                     .subject = graph_.extension(edge.edge, "subject"),
                     .need = edge.need,
                     .reasons = texts_of(edge.reasons)};
  if (edge.need == Pending::Need::restore && edge.hit) {
    TRY_ASSIGN(out.origin, origin_of(edge.hit->result));
  }
  if (edge.need != Pending::Need::run) return out;
  TRY_ASSIGN(auto last, opened_.state->ledger->last_record(lookup_.keys().record_name(edge.edge)));
  TRY_ASSIGN(auto finding, lookup_.find(edge.edge));
  const auto& now = (finding.full ? *finding.full : finding.declared).parts();
  if (!last) {
    TRY_ASSIGN(out.nearest, nearest_of(edge.edge, now));
  } else if (last->outcome == Outcome::failed) {
    out.reasons = {fmt::format("failed last time: {}", last->reason)};
  } else if (auto texts = describe(edge.edge, changes_of(last->result.parts, now));
             !texts.empty() && edge.dirty_inputs.empty()) {
    out.reasons = std::move(texts);
  }
  return out;
}

std::vector<KeyChange> Why::changes_of(const std::vector<KeyPart>& before,
                                       const std::vector<KeyPart>& after) {
  auto out = changes_between(before, after);
  const bool knows_discovered = std::any_of(
      after.begin(), after.end(), [](const KeyPart& part) { return part.tag == "discovered"; });
  if (!knows_discovered) {
    std::erase_if(out, [](const KeyChange& change) { return change.tag == "discovered"; });
  }
  return out;
}

Result<std::optional<PendingEdge::Nearest>> Why::nearest_of(EdgeId id,
                                                            const std::vector<KeyPart>& now) {
  TRY_ASSIGN(auto past, opened_.state->ledger->builds().last_edges_of(graph_.extension(id, "step"),
                                                                      kNearestOf));
  const EdgeRecord* best = nullptr;
  std::vector<KeyChange> least;
  for (const EdgeRecord& record : past) {
    auto changes = changes_of(record.result.parts, now);
    std::erase_if(changes, [](const KeyChange& change) { return change.tag == "output"; });
    drop_renames(changes);
    if (best != nullptr && changes.size() >= least.size()) continue;
    best = &record;
    least = std::move(changes);
  }
  std::optional<PendingEdge::Nearest> out;
  if (best != nullptr) out = {.output = best->output, .changes = describe(id, std::move(least))};
  return out;
}

Result<ResultOrigin> Why::origin_of(const ActionResult& result) {
  TRY_ASSIGN(auto build, opened_.state->ledger->builds().first_that_ran(result.key));
  ResultOrigin out = {.built_at = result.built_at,
                      .built_on = result.built_on,
                      .seconds = result.seconds,
                      .paid_by = result.paid_by};
  if (build) {
    out.build = {.id = build->id, .campaign = build->campaign, .targets = build->targets};
  }
  return out;
}

Result<std::vector<std::string>> Why::past_reasons(const EdgeRecord& edge, std::optional<EdgeId> id,
                                                   int64_t build) {
  std::vector<std::string> recorded = {edge.reason};
  TRY_ASSIGN(auto before, opened_.state->ledger->builds().edge_before(edge.output, build));
  if (!before || !id || edge.outcome == Outcome::failed) return recorded;
  auto texts = describe(*id, changes_between(before->result.parts, edge.result.parts));
  return texts.empty() ? recorded : texts;
}

std::vector<std::string> Why::describe(EdgeId id, std::vector<KeyChange> changes) {
  std::vector<std::string> out;
  for (KeyChange& change : changes) {
    change.name = lookup_.keys().with_paths(id, std::move(change.name));
    const auto lines = lines_of(change);
    out.push_back(!lines.empty() ? fmt::format("{}: {}", label_of(change), text_of(lines))
                                 : lookup_.keys().with_paths(id, text_of(change)));
  }
  return out;
}

std::vector<LineChange> Why::lines_of(const KeyChange& change) {
  const bool is_file = change.tag == "input" || change.tag == "discovered";
  if (!is_file || !change.before || !change.after) return {};
  auto before = text_of_digest(*change.before, "");
  auto after = text_of_digest(*change.after, machine_path(change.name, machine_));
  return before && after ? line_changes(*before, *after) : std::vector<LineChange>{};
}

std::optional<std::string> Why::text_of_digest(const std::string& hex, const std::string& path) {
  const auto digest = Digest::from_hex(hex);
  if (!digest) return std::nullopt;
  for (const std::string& one : {opened_.state->blobs->path_of(*digest), path}) {
    auto text = one.empty() ? Result<std::string>(failed("")) : opened_.state->files.read(one);
    if (text && content_digest(*text) == *digest) return *std::move(text);
  }
  return std::nullopt;
}

}  // namespace evolve
