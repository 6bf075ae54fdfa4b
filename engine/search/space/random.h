// Random numbers that are the same everywhere: the standard library's distributions are not. A
// sweep's proposals are recorded under keys that assume so; the stream is pinned by
// tests/unit/random_test.cc.
#pragma once

#include <cstdint>

namespace evolve::search {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014;
// constants as in Vigna's splitmix64.c). 64 bits of state, passes BigCrush; not for secrets.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // The stream number `stream` of a seed: streams of neighbouring numbers have nothing in common.
  Random(uint64_t seed, uint64_t stream);

  uint64_t next();
  // A number in [0, bound), each with the same chance: draws that would favour the low ones are
  // thrown away. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound);
  // A number in [0, 1), of 2^53 that lie evenly.
  double unit();

 private:
  uint64_t state_;
};

}  // namespace evolve::search
