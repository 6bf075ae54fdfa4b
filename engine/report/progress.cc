#include "engine/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/core/json_text.h"
#include "engine/report/output.h"
#include "engine/report/terminal.h"

namespace evolve {

namespace {

constexpr double kRedrawSeconds = 0.1;

std::string minutes(double seconds) {
  auto whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(ProgressStyle style, bool color, int jobs, Clock& clock)
    : style_(style), color_(color), jobs_(jobs), clock_(clock) {}

Progress::~Progress() {
  clear();
}

void Progress::planned(const Graph& graph, const BuildPlan& plan) {
  total_ = plan.total();
  for (EdgeId id : plan.wanted_edges()) {
    if (graph.edge(id).is_phony()) continue;
    std::string step = graph.extension(id, "step");
    ++steps_[step.empty() ? std::string(graph.edge(id).rule->name) : step].left;
  }
}

void Progress::started(const EdgeEvent& event) {
  running_[event.edge] = {fmt::format("{} {}", event.step, event.subject),
                          clock_.monotonic_seconds()};
  if (style_ == ProgressStyle::json) print_json(event, "started");
}

void Progress::finished(const EdgeEvent& event, const BuildPlan& plan) {
  ++done_;
  running_.erase(event.edge);
  StepTime& step = steps_[event.step];
  if (step.left > 0) --step.left;
  if (event.outcome == Outcome::ran) {
    ++step.ran;
    step.seconds += event.seconds;
  } else if (event.outcome != Outcome::failed) {
    ++cached_;
  }
  // A gate fails if the seed does not pass. The build's last message says so in terms that a user
  // knows, so the gate's own error is not printed.
  is_told_at_end_ = event.outcome == Outcome::failed && event.step == "gate" &&
                    event.exit_status == exit_code(ErrorCode::failed);
  if (style_ == ProgressStyle::json) print_json(event, "finished");
  if (style_ == ProgressStyle::plain && event.outcome == Outcome::ran) {
    std::string verdict = event.verdict.empty() || event.verdict == "ok" ? "" : " " + event.verdict;
    print_err(fmt::format("[{}/{}] {} {} {:.1f}s{}\n", done_, total_, event.step, event.subject,
                          event.seconds, verdict));
  }
  if (style_ == ProgressStyle::live && clock_.monotonic_seconds() - drawn_at_ > kRedrawSeconds)
    draw(plan);
}

void Progress::fault(const Error& error) {
  if (is_told_at_end_) return;
  clear();
  print_error(error, color_);
}

void Progress::tell_of_elsewhere() {
  if (!elsewhere_) return;
  const std::string before = told_.trouble;
  told_ = elsewhere_();
  if (told_.trouble == before || told_.trouble.empty() || style_ != ProgressStyle::plain) return;
  print_err(fmt::format("evolve: {}\n", told_.trouble));
}

void Progress::tick(const BuildPlan& plan) {
  tell_of_elsewhere();
  if (style_ == ProgressStyle::live && clock_.monotonic_seconds() - drawn_at_ > kRedrawSeconds)
    draw(plan);
}

double Progress::remaining_seconds() const {
  // A step that has not run yet is taken to last as long as the others do on average.
  double seconds = 0, means = 0;
  size_t known = 0, unknown_left = 0;
  for (const auto& [name, step] : steps_) {
    if (step.ran == 0) {
      unknown_left += step.left;
      continue;
    }
    double mean = step.seconds / static_cast<double>(step.ran);
    seconds += static_cast<double>(step.left) * mean;
    means += mean;
    ++known;
  }
  if (known == 0) return -1;
  seconds += static_cast<double>(unknown_left) * means / static_cast<double>(known);
  return seconds > 0 ? seconds / jobs_ : -1;
}

void Progress::draw(const BuildPlan&) {
  double now = clock_.monotonic_seconds();
  // The line shows the edge that has run longest, because the user waits for it.
  auto oldest = std::min_element(
      running_.begin(), running_.end(),
      [](const auto& a, const auto& b) { return a.second.started < b.second.started; });
  std::string line = fmt::format("[{}/{}]", done_, total_);
  if (oldest != running_.end()) {
    line += fmt::format(" {} {:.1f}s", oldest->second.text, now - oldest->second.started);
  }
  if (cached_ > 0) line += fmt::format(" · {} cached", cached_);
  if (double left = remaining_seconds(); left >= 0) line += " · ETA " + minutes(left);
  for (const std::string& text : {told_.summary, told_.trouble}) {
    if (!text.empty()) line += " · " + text;
  }
  auto columns = static_cast<size_t>(terminal_columns(STDERR_FILENO));
  // Each byte counts as a column, although a "·" is two bytes. A line that is cut a little early
  // does no harm, but half a character would.
  if (line.size() >= columns) {
    size_t end = columns - 1;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
    line.resize(end);
  }
  print_err(Lead::rewind, line);
  is_drawn_ = true;
  drawn_at_ = now;
}

void Progress::clear() {
  if (is_drawn_) print_err(Lead::rewind, "");
  is_drawn_ = false;
}

void Progress::print_json(const EdgeEvent& event, const char* name) const {
  nlohmann::json line = {{"event", name}, {"step", event.step}, {"subject", event.subject}};
  if (std::string_view(name) == "finished") {
    line["outcome"] = outcome_name(event.outcome);
    line["seconds"] = event.seconds;
    line["verdict"] = event.verdict;
  }
  print_out(json_line(line) + "\n");
}

}  // namespace evolve
