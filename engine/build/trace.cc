#include "engine/build/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/core/json_text.h"
#include "engine/core/path.h"

namespace evolve {

void Trace::planned(const Graph& graph, const BuildPlan& plan) {
  graph_ = &graph;
  start_ = clock_.monotonic_seconds();
  next_.planned(graph, plan);
}

void Trace::started(const EdgeEvent& event) {
  if (free_slots_.empty()) free_slots_.insert(slots_++);
  const size_t slot = free_slots_.extract(free_slots_.begin()).value();
  const double now = clock_.monotonic_seconds() - start_;
  running_[event.edge] = spans_.size();
  spans_.push_back({.edge = event.edge,
                    .step = event.step,
                    .subject = event.subject,
                    .start = now,
                    .end = now,
                    .slot = slot});
  next_.started(event);
}

void Trace::finished(const EdgeEvent& event, const BuildPlan& plan) {
  if (auto running = running_.extract(event.edge)) {
    Span& span = spans_[running.mapped()];
    span.end = clock_.monotonic_seconds() - start_;
    span.has_failed = event.outcome == Outcome::failed;
    free_slots_.insert(span.slot);
  }
  next_.finished(event, plan);
}

std::vector<size_t> Trace::critical_path() const {
  std::vector<size_t> path;
  if (spans_.empty() || graph_ == nullptr) return path;
  std::map<EdgeId, size_t> by_edge;
  size_t last = 0;
  for (size_t i = 0; i < spans_.size(); ++i) {
    by_edge[spans_[i].edge] = i;
    if (spans_[i].end > spans_[last].end) last = i;
  }
  // Goes back along the inputs, always to the edge that ended last. The search passes through edges
  // that did not run, such as phony edges.
  while (true) {
    path.push_back(last);
    std::vector<EdgeId> open = {spans_[last].edge};
    std::set<EdgeId> seen;
    const Span* latest = nullptr;
    while (!open.empty()) {
      const Edge& edge = graph_->edge(open.back());
      open.pop_back();
      for (NodeId input : edge.inputs) {
        auto maker = graph_->node(input).made_by;
        if (!maker || !seen.insert(*maker).second) continue;
        auto span = by_edge.find(*maker);
        if (span == by_edge.end()) {
          open.push_back(*maker);
        } else if (latest == nullptr || spans_[span->second].end > latest->end) {
          latest = &spans_[span->second];
        }
      }
    }
    if (latest == nullptr) break;
    last = static_cast<size_t>(latest - spans_.data());
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::string Trace::name_of(const Span& span) const {
  return fmt::format("{} {}", span.step, span.subject);
}

std::string Trace::json() const {
  using nlohmann::json;
  const std::vector<size_t> path = critical_path();
  const std::set<size_t> critical(path.begin(), path.end());
  json events = json::array();
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    json event = {{"name", name_of(span)},
                  {"cat", span.step},
                  {"ph", "X"},
                  {"ts", static_cast<int64_t>(span.start * 1e6)},
                  {"dur", static_cast<int64_t>((span.end - span.start) * 1e6)},
                  {"pid", 1},
                  {"tid", span.slot + 1},
                  {"args", {{"critical", critical.contains(i)}, {"failed", span.has_failed}}}};
    if (critical.contains(i)) event["cname"] = "terrible";
    events.push_back(std::move(event));
  }
  json names = json::array();
  double seconds = 0;
  for (size_t i : path) {
    names.push_back(name_of(spans_[i]));
    seconds += spans_[i].end - spans_[i].start;
  }
  return json_block(json{{"traceEvents", events},
                         {"displayTimeUnit", "ms"},
                         {"otherData", {{"critical_path", names}, {"critical_seconds", seconds}}}},
                    1) +
         "\n";
}

Status Trace::write(Files& files, const std::string& path) const {
  TRY(files.make_folders(folder_of(path)));
  return files.write(path, json());
}

std::string Trace::summary() const {
  const std::vector<size_t> path = critical_path();
  if (path.empty()) return "nothing ran";
  double seconds = 0;
  const Span* longest = &spans_[path.front()];
  for (size_t i : path) {
    const Span& span = spans_[i];
    seconds += span.end - span.start;
    if (span.end - span.start > longest->end - longest->start) longest = &span;
  }
  return fmt::format(
      "{} commands ran; the critical path is {:.1f} s in {} of them, the longest {} ({:.1f} s)",
      spans_.size(), seconds, path.size(), name_of(*longest), longest->end - longest->start);
}

}  // namespace evolve
