// The nearest known name to an unknown one, for "did you mean '…'?".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace evolve {

// Returns the candidate nearest to `word` by restricted Damerau-Levenshtein distance (adjacent
// letters may be swapped once); of several, the first. Nullopt: all candidates are too far. Names
// of 1 letter must be equal. Names of up to 3 letters may differ by 1 edit, names of up to 5
// letters by 2, and longer names by 3. (Ninja always allows 3, which suggests anything for short
// names.) Upper and lower case are equal.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// Returns the candidate nearest to `word` by Levenshtein distance; of several, the first. Nullopt:
// all candidates are more than `edits` away. With 3 edits this is Ninja's rule.
std::optional<std::string> nearest_within(std::string_view word,
                                          std::span<const std::string> candidates, size_t edits);

// Returns ", did you mean 'x'?" if a candidate is near, else "; known: a, b and 12 more" with at
// most 8 names.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace evolve
