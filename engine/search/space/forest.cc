#include "engine/search/space/forest.h"

#include <algorithm>
#include <numeric>

namespace evolve::search {

namespace {

constexpr double kSame = 1e-9;  // targets with a smaller variance count as the same

}  // namespace

// Grows trees into the forest's nodes.
class Forest::Growth {
 public:
  Growth(const Matrix& rows, std::span<const double> targets, Random& random, Forest& forest)
      : rows_(rows), targets_(targets), random_(random), forest_(forest), columns_(rows.width) {
    std::iota(columns_.begin(), columns_.end(), 0);
  }

  void add_tree() {
    std::vector<uint32_t> all(targets_.size());
    std::iota(all.begin(), all.end(), 0);
    forest_.roots_.push_back(grow(all));
  }

 private:
  struct Split {
    int column = -1;
    float threshold = 0;
    double gain = -1;
  };

  // Grows the node that holds these rows, and returns its number. Reorders the rows.
  uint32_t grow(std::span<uint32_t> rows) {
    const auto id = static_cast<uint32_t>(forest_.nodes_.size());
    forest_.nodes_.push_back(leaf(rows));
    if (forest_.nodes_[id].variance < kSame) return id;
    const Split split = draw_split(rows);
    if (split.column < 0) return id;
    auto middle = std::partition(rows.begin(), rows.end(), [&](uint32_t row) {
      return cell(row, split.column) <= split.threshold;
    });
    const auto size = static_cast<size_t>(middle - rows.begin());
    const uint32_t left = grow(rows.first(size));
    const uint32_t right = grow(rows.subspan(size));
    forest_.nodes_[id].column = split.column;
    forest_.nodes_[id].threshold = split.threshold;
    forest_.nodes_[id].left = left;
    forest_.nodes_[id].right = right;
    return id;
  }

  Node leaf(std::span<const uint32_t> rows) const {
    double sum = 0;
    double squares = 0;
    for (uint32_t row : rows) {
      sum += targets_[row];
      squares += targets_[row] * targets_[row];
    }
    const auto count = static_cast<double>(rows.size());
    Node node;
    node.mean = sum / count;
    node.variance = std::max(0.0, squares / count - node.mean * node.mean);
    return node;
  }

  // Draws a threshold for each of half of the columns, and returns the best split. Columns with
  // only one value do not count.
  Split draw_split(std::span<const uint32_t> rows) {
    Split best;
    size_t wanted = (columns_.size() + 1) / 2;
    for (size_t i = 0; i < columns_.size() && wanted > 0; ++i) {
      std::swap(columns_[i], columns_[i + random_.below(columns_.size() - i)]);
      const int column = columns_[i];
      auto [least, largest] = std::minmax_element(
          rows.begin(), rows.end(),
          [&](uint32_t a, uint32_t b) { return cell(a, column) < cell(b, column); });
      const float low = cell(*least, column);
      const float high = cell(*largest, column);
      if (low == high) continue;
      --wanted;
      auto threshold = static_cast<float>(low + (high - low) * random_.unit());
      if (threshold >= high) threshold = low;  // so that neither side is empty
      const double gain = gain_of(rows, column, threshold);
      if (gain > best.gain) best = {column, threshold, gain};
    }
    return best;
  }

  // Returns the variance of the targets that a split explains, up to constants: the square of each
  // side's sum, divided by the side's size, added up for both sides.
  double gain_of(std::span<const uint32_t> rows, int column, float threshold) const {
    double left = 0;
    double right = 0;
    size_t size = 0;
    for (uint32_t row : rows) {
      const bool is_left = cell(row, column) <= threshold;
      (is_left ? left : right) += targets_[row];
      size += is_left ? 1 : 0;
    }
    return left * left / static_cast<double>(size) +
           right * right / static_cast<double>(rows.size() - size);
  }

  float cell(uint32_t row, int column) const {
    return rows_.cells[row * rows_.width + static_cast<size_t>(column)];
  }

  const Matrix& rows_;
  std::span<const double> targets_;
  Random& random_;
  Forest& forest_;
  std::vector<int> columns_;
};

Forest Forest::fit(const Matrix& rows, std::span<const double> targets, int trees, Random& random) {
  Forest forest;
  Growth growth(rows, targets, random, forest);
  for (int i = 0; i < trees; ++i) growth.add_tree();
  return forest;
}

Forest::Prediction Forest::at(std::span<const float> row) const {
  double sum = 0;
  double squares = 0;
  for (uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->column >= 0) {
      const float value = row[static_cast<size_t>(node->column)];
      node = &nodes_[value <= node->threshold ? node->left : node->right];
    }
    sum += node->mean;
    squares += node->mean * node->mean + node->variance;
  }
  const auto count = static_cast<double>(roots_.size());
  const double mean = sum / count;
  return {mean, std::max(0.0, squares / count - mean * mean)};
}

}  // namespace evolve::search
