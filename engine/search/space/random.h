// Random numbers that are the same on every machine, unlike the standard library's distributions.
// With other numbers a campaign would propose other points, so tests/unit/random_test.cc pins the
// stream.
#pragma once

#include <cstdint>

namespace evolve::search {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014;
// constants as in Vigna's splitmix64.c). It has 64 bits of state and passes BigCrush. It is not fit
// for secrets.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Makes the stream number `stream` of a seed. Streams with neighbouring numbers have nothing in
  // common.
  Random(uint64_t seed, uint64_t stream);

  uint64_t next();
  // Draws a number in [0, bound), each with the same chance. Draws that would favour low numbers
  // are thrown away. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound);
  // Draws a number in [0, 1), one of 2^53 that are evenly spaced.
  double unit();

 private:
  uint64_t state_;
};

}  // namespace evolve::search
