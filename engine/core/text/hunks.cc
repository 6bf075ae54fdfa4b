#include "engine/core/text/hunks.h"

#include <algorithm>
#include <cstdint>

namespace evolve {

namespace {

// The maximum number of cells of common_lengths(). A larger table costs more than it is worth.
constexpr size_t kMostCells = 4'000'000;

using Items = std::span<const std::string_view>;

// Returns a table. Row i, column j has the length of the longest common subsequence of the items
// from i on in `before` and the items from j on in `after`.
std::vector<uint32_t> common_lengths(Items before, Items after) {
  const size_t width = after.size() + 1;
  std::vector<uint32_t> out((before.size() + 1) * width);
  for (size_t i = before.size(); i-- > 0;) {
    for (size_t j = after.size(); j-- > 0;) {
      out[i * width + j] = before[i] == after[j]
                               ? out[(i + 1) * width + j + 1] + 1
                               : std::max(out[(i + 1) * width + j], out[i * width + j + 1]);
    }
  }
  return out;
}

}  // namespace

std::vector<Hunk> hunks(Items before, Items after) {
  size_t head = 0, old_end = before.size(), end = after.size();
  while (head < std::min(old_end, end) && before[head] == after[head]) ++head;
  while (old_end > head && end > head && before[old_end - 1] == after[end - 1]) --old_end, --end;
  if (head == old_end && head == end) return {};
  const size_t rows = old_end - head, columns = end - head;
  if (rows * columns > kMostCells) return {{head, old_end, head, end}};
  const auto common = common_lengths(before.subspan(head, rows), after.subspan(head, columns));
  auto length = [&](size_t i, size_t j) { return common[(i - head) * (columns + 1) + (j - head)]; };
  std::vector<Hunk> out;
  Hunk open = {head, head, head, head};
  auto close = [&] {
    if (open.old_begin < open.old_end || open.begin < open.end) out.push_back(open);
  };
  while (open.old_end < old_end || open.end < end) {
    const size_t i = open.old_end, j = open.end;
    if (i < old_end && j < end && before[i] == after[j]) {
      close();
      open = {i + 1, i + 1, j + 1, j + 1};
    } else if (j == end || (i < old_end && length(i + 1, j) >= length(i, j + 1))) {
      ++open.old_end;
    } else {
      ++open.end;
    }
  }
  close();
  return out;
}

}  // namespace evolve
