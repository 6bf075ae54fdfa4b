// Progress on stderr: one live line on a terminal, plain lines on a pipe, JSON events with --json.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/build/build.h"
#include "engine/core/ports.h"

namespace evolve {

enum class ProgressStyle { live, plain, json, quiet };

// Texts about the work of other machines.
struct Elsewhere {
  std::string summary;  // empty: nothing
  std::string trouble;  // empty: no trouble
};

class Progress : public Listener {
 public:
  Progress(ProgressStyle style, bool color, int jobs, Clock& clock);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void planned(const Graph& graph, const BuildPlan& plan) override;
  void started(const EdgeEvent& event) override;
  void finished(const EdgeEvent& event, const BuildPlan& plan) override;
  void fault(const Error& error) override;
  void tick(const BuildPlan& plan) override;
  // From now on reports the work of other machines, too: a summary next to the edges, and trouble
  // in a line of its own. An empty function ends these reports.
  void watch(std::function<Elsewhere()> elsewhere) { elsewhere_ = std::move(elsewhere); }
  // Takes the live line off the screen; the next event brings it back.
  void clear();

 private:
  struct RunningEdge {
    std::string text;
    double started = 0;
  };

  void draw(const BuildPlan& plan);
  void tell_of_elsewhere();
  // Returns the seconds to the end, by each step's mean time so far; negative: not known yet.
  [[nodiscard]] double remaining_seconds() const;
  void print_json(const EdgeEvent& event, const char* name) const;

  ProgressStyle style_;
  bool color_;
  int jobs_;
  Clock& clock_;
  size_t done_ = 0;
  size_t total_ = 0;
  size_t cached_ = 0;
  std::map<EdgeId, RunningEdge> running_;
  struct StepTime {
    size_t left = 0;
    size_t ran = 0;
    double seconds = 0;
  };
  std::map<std::string, StepTime> steps_;
  double drawn_at_ = 0;
  bool is_drawn_ = false;
  bool is_told_at_end_ = false;  // the next fault is only reported when the build ends
  std::function<Elsewhere()> elsewhere_;
  Elsewhere told_;
};

}  // namespace evolve
