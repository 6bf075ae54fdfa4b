// The nearest known name to an unknown one, for "did you mean '…'?".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace evolve {

// Returns the candidate nearest to `word` by Damerau-Levenshtein distance (restricted: adjacent
// letters may be swapped once), the first of several; nothing where all are too far: more than 1
// edit for names of up to 3 letters (none for 1 letter), 2 for up to 5, 3 for longer ones (Ninja
// allows 3 always, which for short names suggests anything). Names that differ in case alone are
// near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// The candidate nearest to `word` by Levenshtein distance, the first of several; nothing where all
// are more than `edits` away. Ninja's rule, with 3.
std::optional<std::string> nearest_within(std::string_view word,
                                          std::span<const std::string> candidates, size_t edits);

// ", did you mean 'x'?" where a candidate is near, else "; known: a, b and 12 more", at most 8 of
// them.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace evolve
