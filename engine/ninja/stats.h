// Statistics that `-d stats` prints: how often something was done, and how long it took.
#pragma once

#include <string>
#include <vector>

#include "engine/core/ports.h"

namespace evolve::ninja {

class Stats {
 public:
  explicit Stats(Clock& clock) : clock_(clock) {}

  // Measures until the end of its scope.
  class Timer {
   public:
    Timer(Stats& stats, std::string name);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Stats& stats_;
    std::string name_;
    double start_;
  };

  // Prints Ninja's table: metric, count, average in microseconds, sum in milliseconds.
  void print(size_t entries, size_t buckets) const;

 private:
  struct Metric {
    std::string name;
    int count = 0;
    double seconds = 0;
  };

  Clock& clock_;
  std::vector<Metric> metrics_;  // in the order in which they first ended
};

}  // namespace evolve::ninja
