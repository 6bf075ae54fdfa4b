// Edits of a kernel's source. Parameters are assignments `NAME = <whole number>`, each on a line of
// its own in the EVOLVE block, and not within a string literal. Text outside of that block is never
// touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/space.h"

namespace evolve::search {

// The texts that mark the block's start and end in a kernel.py. The step normalise writes them,
// whatever the author's markers are. A line that contains one of these texts is a marker. The last
// start and the last end count, as in Glaucis. The block is between the two markers.
constexpr std::string_view kBlockStart = "# EVOLVE-BLOCK-START";
constexpr std::string_view kBlockEnd = "# EVOLVE-BLOCK-END";

// The block's place in a source, by byte offsets: the lines between the markers.
struct EvolveBlock {
  size_t begin = 0;
  size_t end = 0;
};

// Finds the block of a source. Bad input: a marker is missing, or the block ends before it starts.
Result<EvolveBlock> find_block(std::string_view source);

// Returns the values that the block assigns to the names. Bad input: the source has no block, a
// name does not have exactly one assignment, or a value is not a whole number.
Result<Point> read_parameters(std::string_view source, const std::vector<std::string>& names);

// Returns the source with the block's assignments changed to the point's values. All else stays
// byte for byte, even comments on the same line. Bad input: as in read_parameters().
Result<std::string> write_parameters(std::string_view source, const Point& point);

// Returns the source with "?" in the place of the values that the block assigns to the names.
// Sources that differ only in parameters have this text in common. Names without a value in the
// block are skipped. If a source has no block, the whole source counts as the block. A variant's
// canonical source, for example, has none.
std::string without_parameters(std::string_view source, const std::vector<std::string>& names);

}  // namespace evolve::search
