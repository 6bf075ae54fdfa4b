// The grid that samplers search: axes of values, with numbered points.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

// The maximum number of points of a space. Space::size() does not count beyond it.
constexpr uint64_t kMostPoints = uint64_t{1} << 62;

// A parameter as a search sees it: the number of its values, and the values if they are numbers.
struct Axis {
  size_t count = 0;            // number of values
  std::vector<double> values;  // ascending and distinct; empty: the values are not numbers
};

class Grid {
 public:
  // Makes a grid. Bad input: no axis, an axis without values, or more than 2^62 points in all.
  static Result<Grid> make(std::vector<Axis> axes);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  // The number of points. Points are numbered from 0; the last axis varies fastest.
  [[nodiscard]] uint64_t size() const { return size_; }
  // The index of a point's value on the axis.
  [[nodiscard]] size_t place(uint64_t point, size_t axis) const {
    return static_cast<size_t>(point / strides_[axis] % axes_[axis].count);
  }
  // The same point, but with value number `place` on the axis.
  [[nodiscard]] uint64_t moved(uint64_t point, size_t axis, size_t place) const;
  // The point with the value in the middle of the list on each axis; of two middle values, the
  // lower one.
  [[nodiscard]] uint64_t middle() const;

 private:
  std::vector<Axis> axes_;
  std::vector<uint64_t> strides_;  // by axis: the step from one of its values to the next
  uint64_t size_ = 1;
};

}  // namespace evolve::search
