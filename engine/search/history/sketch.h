// Sketches: short summaries that tell programs apart, and the distance between two programs. Pure.
//
// A program is represented by its jaxpr, which `lower` traces (jaxpr.json, as
// rules/programs/wire.py packs it). The program's features are those of the Weisfeiler-Lehman
// subtree kernel of depth 1 (Shervashidze et al., Weisfeiler-Lehman graph kernels, 2011). Each
// operation gives two features. The first holds the operation with its parameters, the kernel, loop
// or branch around it, and the types and shapes of its operands and results. The second adds the
// operation, argument or number that made each operand. The body of a called function replaces the
// call. Names and the order of independent operations are not features.
//
// The distance of two programs is the Jaccard distance of the multisets of their features, in the
// form for multisets (Ruzicka): 1 - |A n B| / |A u B|. A distance of 0 means the same features, and
// 1 means no common features. The distance is also 1 if the frames differ. The frame of a program
// is its kernels and loops, with grid, blocks, index maps, buffers, scratch memory, trip counts,
// unrolling and the compiler's parameters. Programs with different frames are different points of
// the search, even if the code within the frames is nearly the same.
//
// A sketch keeps the features with the smallest digests (Broder, On the resemblance and containment
// of documents, 1997). It is exact up to kMostFeatures features. For larger programs the distance d
// is estimated with a standard error of sqrt(d (1 - d) / kMostFeatures).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"

namespace evolve::search {

constexpr size_t kMostFeatures = 1024;

struct Sketch {
  std::string frame;               // a digest
  std::vector<uint64_t> features;  // digests, ascending, at most kMostFeatures

  friend bool operator==(const Sketch&, const Sketch&) = default;
};

// Returns the sketch of a jaxpr.json. Nullopt: the JSON is not a jaxpr, or the program with its
// calls expanded is larger than any real kernel. (With nested calls a program of a few lines can be
// that large.)
std::optional<Sketch> sketch_of(const nlohmann::json& jaxpr);

// The distance of two programs, from 0 to 1.
double distance(const Sketch& one, const Sketch& other);

nlohmann::json sketch_record(const Sketch& sketch);
// Reads the record of a sketch. External error: the JSON is not the record of a sketch.
Result<Sketch> read_sketch(const nlohmann::json& record);

}  // namespace evolve::search
