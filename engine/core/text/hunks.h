// Differences between two sequences of texts, such as lines of files or words of commands.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace evolve {

// A difference: items [begin, end) of the newer sequence replace items [old_begin, old_end) of the
// older sequence.
struct Hunk {
  size_t old_begin = 0, old_end = 0;
  size_t begin = 0, end = 0;

  friend bool operator==(const Hunk&, const Hunk&) = default;
};

// Returns the differences: the items outside the longest common subsequence, in order. Returns a
// single hunk if thousands of items lie between the first and the last difference.
std::vector<Hunk> hunks(std::span<const std::string_view> before,
                        std::span<const std::string_view> after);

}  // namespace evolve
