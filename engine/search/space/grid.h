// A grid of values, its points numbered: what samplers search.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// No space has more, and Space counts no further.
constexpr uint64_t kMostPoints = uint64_t{1} << 62;

// A parameter as a search sees it: a list of values, of which it knows what they are as numbers.
struct Axis {
  size_t count = 0;            // how many values
  std::vector<double> values;  // ascending and distinct; empty where they are no numbers
};

class Grid {
 public:
  // Bad input: no axis, one without values, or more than 2^62 points in all.
  static Result<Grid> make(std::vector<Axis> axes);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  // How many points there are; they are numbered from 0, the last axis counts fastest.
  [[nodiscard]] uint64_t size() const { return size_; }
  // Which of the axis's values a point has.
  [[nodiscard]] size_t place(uint64_t point, size_t axis) const {
    return static_cast<size_t>(point / strides_[axis] % axes_[axis].count);
  }
  // The point that has value number `place` there, and is else the same.
  [[nodiscard]] uint64_t moved(uint64_t point, size_t axis, size_t place) const;
  // The point that has on each axis the value in the middle of the list, the lower one of two.
  [[nodiscard]] uint64_t middle() const;

 private:
  std::vector<Axis> axes_;
  std::vector<uint64_t> strides_;  // by axis: the step from one of its values to the next
  uint64_t size_ = 1;
};

}  // namespace evolve::search
