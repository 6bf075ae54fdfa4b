#include "engine/search/space/grid.h"

namespace evolve::search {

Result<Grid> Grid::make(std::vector<Axis> axes) {
  Grid grid;
  grid.strides_.resize(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].count == 0) return bad_input("a parameter has no values");
    if (grid.size_ > kMostPoints / axes[i].count) return bad_input("more than 2^62 points");
    grid.strides_[i] = grid.size_;
    grid.size_ *= axes[i].count;
  }
  if (axes.empty()) return bad_input("no parameters");
  grid.axes_ = std::move(axes);
  return grid;
}

uint64_t Grid::moved(uint64_t point, size_t axis, size_t place) const {
  return point - this->place(point, axis) * strides_[axis] + place * strides_[axis];
}

uint64_t Grid::middle() const {
  uint64_t point = 0;
  for (size_t i = 0; i < axes_.size(); ++i) point = moved(point, i, (axes_[i].count - 1) / 2);
  return point;
}

}  // namespace evolve::search
