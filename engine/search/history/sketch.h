// What tells a program apart from others, in short, and how far two programs are apart. Pure.
//
// A program is taken for what `lower` traced it to (jaxpr.json, as rules/steps/wire.py packs it).
// Its features are those of the Weisfeiler-Lehman subtree kernel of depth 1 (Shervashidze et al.,
// Weisfeiler-Lehman graph kernels, 2011): each operation by itself, with the kernel, loop or branch
// that it stands in, its parameters, and the types and shapes of its operands and results; and each
// once more with the operation, argument or number that made each operand. Calls of functions are
// seen through; names, and in which order independent operations stand, are no features.
//
// The distance of two programs is that of the multisets of their features by Jaccard, in the form
// for multisets (Ruzicka): 1 - |A n B| / |A u B|; 0 the same features, 1 none in common. It is 1,
// too, where the frames differ: the kernels and loops, with grid, blocks, index maps, buffers,
// scratch memory, trip counts, unrolling and the compiler's parameters. What is within them may
// read nearly the same, and yet be another point of the search.
//
// A sketch keeps the features with the smallest digests (Broder, On the resemblance and containment
// of documents, 1997): it is exact up to kMostFeatures of them, and of larger programs the distance
// d is estimated with a standard error of sqrt(d (1 - d) / kMostFeatures).
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

// Of a jaxpr.json. Nothing where it is none, or where a program unfolds to more than a kernel's
// code ever is: calls of calls, a few lines can.
std::optional<Sketch> sketch_of(const nlohmann::json& jaxpr);

// 0 to 1.
double distance(const Sketch& one, const Sketch& other);

nlohmann::json sketch_record(const Sketch& sketch);
// External error for what is no such record.
Result<Sketch> read_sketch(const nlohmann::json& record);

}  // namespace evolve::search
