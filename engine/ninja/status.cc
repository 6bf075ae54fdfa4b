#include "engine/ninja/status.h"

#include <fmt/format.h>

#include "engine/ninja/messages.h"

namespace evolve::ninja {

StatusPrinter::StatusPrinter(const Graph& graph, const std::vector<Pending>& pending,
                             const Options& options, const StatusFormat& format, Terminal terminal,
                             Clock& clock)
    : graph_(graph),
      options_(options),
      format_(format),
      clock_(clock),
      start_(clock.monotonic_seconds()),
      printer_(terminal.is_smart && options.verbosity == Verbosity::normal, terminal.has_color),
      shows_starts_(terminal.is_smart && options.verbosity == Verbosity::normal) {
  for (const Pending& one : pending) pending_[one.edge] = &one;
  counts_.total = static_cast<int>(pending.size());
}

double StatusPrinter::elapsed() const {
  return clock_.monotonic_seconds() - start_;
}

void StatusPrinter::started(const EdgeEvent& event) {
  ++counts_.started;
  ++counts_.running;
  if (!pending_.contains(event.edge)) {
    // The scan did not find this edge, because its new input was made only in this build.
    ++counts_.total;
  }
  if (event.has_console || shows_starts_) print_status(event);
  if (event.has_console) printer_.lock();
}

void StatusPrinter::finished(const EdgeEvent& event, const BuildPlan&) {
  if (event.outcome == Outcome::hit && !event.is_restored) {
    // The edge turned out to be up to date.
    if (pending_.contains(event.edge)) --counts_.total;
    return;
  }
  const bool was_started = event.outcome == Outcome::ran || event.outcome == Outcome::failed;
  if (!was_started) {
    ++counts_.started;
    if (!pending_.contains(event.edge)) ++counts_.total;
  }
  ++counts_.finished;
  counts_.command_seconds += event.seconds;
  if (event.has_console && was_started) printer_.unlock();
  if (!event.has_console || !was_started) print_status(event);
  if (was_started) --counts_.running;
  if (event.outcome == Outcome::failed) print_failure(event);
  if (!event.output.empty()) print_output(event);
}

void StatusPrinter::end() {
  printer_.unlock();
  printer_.print_on_new_line("");
}

void StatusPrinter::dyndep_loaded(NodeId file) {
  if (!options_.explain) return;
  printer_.print_on_new_line("");
  explain_dyndep(graph_.path(file));
  graph_.for_each_user(file, [&](EdgeId user) {
    if (graph_.edge(user).dyndep == file) looked_at_again_.insert(user);
  });
}

void StatusPrinter::explain(EdgeId id) {
  auto pending = pending_.find(id);
  if (pending == pending_.end()) return;
  auto lines = explanations(graph_, *pending->second);
  if (!lines.empty()) printer_.print_on_new_line("");
  for (int times = looked_at_again_.contains(id) ? 2 : 1; times > 0; --times) {
    for (const std::string& line : lines) fmt::print(stderr, "ninja explain: {}\n", line);
  }
}

void StatusPrinter::print_status(const EdgeEvent& event) {
  if (options_.explain) explain(event.edge);
  if (options_.verbosity == Verbosity::quiet) return;
  const bool is_whole = options_.verbosity == Verbosity::verbose;
  std::string description = is_whole ? "" : graph_.binding(event.edge, "description");
  if (description.empty()) description = graph_.binding(event.edge, "command");
  counts_.elapsed_seconds = elapsed();
  printer_.print(format_.line(counts_, description), is_whole ? Width::whole : Width::cut);
}

void StatusPrinter::print_failure(const EdgeEvent& event) {
  std::string outputs;
  for (NodeId output : graph_.edge(event.edge).outputs) outputs += graph_.path(output) + " ";
  std::string failed = fmt::format("FAILED: [code={}] ", event.exit_status);
  if (printer_.has_color()) failed = "\x1B[31m" + failed + "\x1B[0m";
  printer_.print_on_new_line(failed + outputs + "\n");
  printer_.print_on_new_line(graph_.binding(event.edge, "command") + "\n");
}

void StatusPrinter::print_output(const EdgeEvent& event) {
  printer_.print_on_new_line(printer_.has_color() ? event.output : without_escapes(event.output));
}

std::vector<std::string> explanations(const Graph& graph, const Pending& pending) {
  std::vector<std::string> out;
  for (NodeId input : pending.dirty_inputs) {
    out.push_back(fmt::format("{} is dirty", graph.path(input)));
  }
  if (!out.empty()) return out;
  if (pending.missing_output) {
    return {fmt::format("output {} doesn't exist", graph.path(*pending.missing_output))};
  }
  const std::string first = graph.path(graph.edge(pending.edge).outputs.front());
  for (const Reason& reason : pending.reasons) {
    if (reason.kind == Reason::Kind::never_built) {
      out.push_back(fmt::format("command line not found in log for {}", first));
    } else if (reason.kind == Reason::Kind::changed && reason.part == "command") {
      out.push_back(fmt::format("command line changed for {}", first));
    } else {
      out.push_back(fmt::format("{} for {}", text_of(reason), first));
    }
  }
  return out;
}

}  // namespace evolve::ninja
