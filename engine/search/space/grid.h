// The grid that samplers search: axes of values, with numbered points.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The most points of a space; Space counts no further.
constexpr uint64_t kMostPoints = uint64_t{1} << 62;

// A parameter as a search sees it: a list of values, and what they are as numbers.
struct Axis {
  size_t count = 0;            // how many values
  std::vector<double> values;  // ascending and distinct; empty: they are no numbers
};

class Grid {
 public:
  // Bad input: no axis, an axis without values, or more than 2^62 points in all.
  static Result<Grid> make(std::vector<Axis> axes);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  // The number of points. They are numbered from 0; the last axis counts fastest.
  [[nodiscard]] uint64_t size() const { return size_; }
  // The number of the value that a point has on the axis.
  [[nodiscard]] size_t place(uint64_t point, size_t axis) const {
    return static_cast<size_t>(point / strides_[axis] % axes_[axis].count);
  }
  // The point with value number `place` on the axis, and else the same.
  [[nodiscard]] uint64_t moved(uint64_t point, size_t axis, size_t place) const;
  // The point with the value in the middle of the list on each axis; of two, the lower one.
  [[nodiscard]] uint64_t middle() const;

 private:
  std::vector<Axis> axes_;
  std::vector<uint64_t> strides_;  // by axis: the step from one of its values to the next
  uint64_t size_ = 1;
};

}  // namespace evolve::search
