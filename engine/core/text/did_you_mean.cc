#include "engine/core/text/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace evolve {

namespace {

// The maximum size of a word in bytes. A longer word is no name that a person mistyped.
constexpr size_t kLongest = 200;

enum class Swaps { cost_one, cost_two };

// Returns the number of edits between two words. Insertions, deletions and replacements cost one
// edit each, and swaps of neighbours cost what `swaps` says.
size_t edit_distance(std::string_view a, std::string_view b, Swaps swaps = Swaps::cost_one) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      bool swapped = swaps == Swaps::cost_one && i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                     a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

size_t allowed_edits(size_t length) {
  return length <= 1 ? 0 : length <= 3 ? 1 : length <= 5 ? 2 : 3;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  size_t best_distance = 0;
  if (word.empty() || word.size() > kLongest) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    size_t distance =
        std::min(edit_distance(word, candidate), edit_distance(lower(word), lower(candidate)));
    if (distance > allowed_edits(std::max(word.size(), candidate.size()))) continue;
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::optional<std::string> nearest_within(std::string_view word,
                                          std::span<const std::string> candidates, size_t edits) {
  const std::string* best = nullptr;
  size_t least = edits + 1;
  for (const std::string& candidate : candidates) {
    size_t difference = candidate.size() > word.size() ? candidate.size() - word.size()
                                                       : word.size() - candidate.size();
    if (difference >= least) continue;
    size_t distance = edit_distance(word, candidate, Swaps::cost_two);
    if (distance >= least) continue;
    least = distance;
    best = &candidate;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kListed = 8;
  if (auto near = nearest(word, candidates)) return ", did you mean '" + *near + "'?";
  if (candidates.empty()) return "";
  std::string out = "; known: ";
  for (size_t i = 0; i < std::min(candidates.size(), kListed); ++i) {
    out += (i == 0 ? "" : ", ") + candidates[i];
  }
  if (candidates.size() > kListed)
    out += " and " + std::to_string(candidates.size() - kListed) + " more";
  return out;
}

}  // namespace evolve
