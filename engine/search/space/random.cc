#include "engine/search/space/random.h"

namespace evolve::search {

Random::Random(uint64_t seed, uint64_t stream) : state_(seed) {
  // The seed and the stream are mixed one after the other, so that (1, 2) and (2, 1) differ.
  state_ = next() + stream;
  state_ = next();
}

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Random::below(uint64_t bound) {
  // 2^64 modulo bound: so many of the 2^64 possible draws are thrown away.
  const uint64_t left_over = (0 - bound) % bound;
  uint64_t draw = next();
  while (draw < left_over) draw = next();
  return draw % bound;
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

}  // namespace evolve::search
