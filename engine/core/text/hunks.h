// Where two sequences of texts differ: lines of files, words of commands.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace evolve {

// Items [old_begin, old_end) of the older sequence, in whose place are [begin, end) of the newer.
struct Hunk {
  size_t old_begin = 0, old_end = 0;
  size_t begin = 0, end = 0;

  friend bool operator==(const Hunk&, const Hunk&) = default;
};

// What is not in the longest common subsequence, in order; of sequences with thousands of items
// between the first and the last that differ, one hunk for all.
std::vector<Hunk> hunks(std::span<const std::string_view> before,
                        std::span<const std::string_view> after);

}  // namespace evolve
