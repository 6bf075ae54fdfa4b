// Sketches: short summaries that tell programs apart, and the distance between two programs. Pure.
//
// A program stands for what `lower` traced it to (jaxpr.json, as rules/programs/wire.py packs it).
// Its features are those of the Weisfeiler-Lehman subtree kernel of depth 1 (Shervashidze et al.,
// Weisfeiler-Lehman graph kernels, 2011). Each operation gives two features. The first holds the
// kernel, loop or branch around the operation, its parameters, and the types and shapes of its
// operands and results. The second adds the operation, argument or number that made each operand.
// Calls of functions are replaced by what they call. Names, and the order of independent
// operations, are no features.
//
// The distance of two programs is the Jaccard distance of the multisets of their features, in the
// form for multisets (Ruzicka): 1 - |A n B| / |A u B|. 0: the same features; 1: no common features.
// It is also 1 if the frames differ: the kernels and loops, with grid, blocks, index maps, buffers,
// scratch memory, trip counts, unrolling and the compiler's parameters. The code within different
// frames may read nearly the same, and yet be another point of the search.
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

// Returns the sketch of a jaxpr.json. Nullopt: the JSON is no jaxpr, or the program unfolds to more
// than any kernel's code. A few lines with calls of calls can do that.
std::optional<Sketch> sketch_of(const nlohmann::json& jaxpr);

// The distance of two programs, from 0 to 1.
double distance(const Sketch& one, const Sketch& other);

nlohmann::json sketch_record(const Sketch& sketch);
// External error: the JSON is no such record.
Result<Sketch> read_sketch(const nlohmann::json& record);

}  // namespace evolve::search
