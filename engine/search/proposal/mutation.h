// Edits of a kernel's source: parameters are assignments `NAME = <whole number>` on a line of their
// own in the EVOLVE block, and not within a string literal. Text outside of that block is
// never touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/space.h"

namespace evolve::search {

// The texts that mark the block's first and last line in a canonical source (step normalise writes
// them, whatever the author's are). A line that contains one is a marker; of several the last one
// counts, as in Glaucis. The block is what lies between.
constexpr std::string_view kBlockStart = "# EVOLVE-BLOCK-START";
constexpr std::string_view kBlockEnd = "# EVOLVE-BLOCK-END";

// The block's place in a source, by byte offsets: the lines between the markers.
struct EvolveBlock {
  size_t begin = 0;
  size_t end = 0;
};

// Bad input: a marker is missing, or the block ends before it starts.
Result<EvolveBlock> find_block(std::string_view source);

// The values that the block assigns to the names. Bad input: no block, a name with no such
// assignment or with several, a value that is no whole number.
Result<Point> read_parameters(std::string_view source, const std::vector<std::string>& names);

// Returns the source with the block's assignments changed to the point's values; all else, comments
// on the same line too, stays byte for byte. Bad input as above.
Result<std::string> write_parameters(std::string_view source, const Point& point);

// The source with "?" in the place of the values that the block assigns to the names: what sources
// that differ in parameters alone have in common. Names without a value there are passed over; a
// source without a block, as a variant's canonical one is, is taken for one.
std::string without_parameters(std::string_view source, const std::vector<std::string>& names);

}  // namespace evolve::search
