// The sweep: the deterministic mutator that proposes points of the spec's parameters for a whole
// round. Pure: the proposals depend on the request alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/space.h"

namespace evolve::search {

struct Parent {
  std::string id;  // "v0003"
  Point point;     // its values may be none of the space's
};

// A variant that differs from the proposed ones in nothing but its parameters.
struct Trial {
  Point point;                 // its values may be none of the space's
  std::optional<double> cost;  // above 0, the less the better; none: it was rejected
};

// A proposal that is wanted.
struct SweepPlace {
  size_t parent = 0;      // its number among the request's
  bool explores = false;  // drawn from the whole space
};

struct SweepRequest {
  const Space& space;
  std::string sampler;          // one of sampler_names() (sampler.h)
  std::vector<Parent> parents;  // the best first; at least one
  std::vector<Trial> trials;    // of all rounds before, in the order of their ids
  uint64_t random_seed = 0;
  uint64_t stream = 0;  // of the random numbers: a round's, and within it a request's own
  std::vector<SweepPlace> places;
};

// Whether the sweep's proposal number `ordinal` of a campaign, from 0, explores: they are spread
// evenly, so that of a share of 1/4 it is every fourth one.
bool explores(size_t ordinal, double share);

struct Proposal {
  Point point;
  size_t parent = 0;   // index in the request's parents
  std::string note;    // what differs from the parent: "BLOCK_M 512 -> 1024"
  bool is_new = true;  // false: the space is exhausted and this repeats the parent
};

// Proposes a point for each place, which all constraints allow: no two alike, none tried before, no
// parent.
//
// A place that explores is drawn from the whole space by chance, the others by the sampler:
//
//   local   A place takes one of the nearest points to its parent that are left: one parameter one
//           step up or down its list of values; when these are used up two steps in all, then
//           three, then four. A value that is not in the list lies between its neighbours, one step
//           from either, and stays where a step is taken elsewhere.
//   others  The sampler is told of the trials whose values the space has, of the parents at a cost
//           of 1 where there are no trials at all, and is then asked. What it asks for that the
//           constraints forbid it is told to be not valid. The proposal's parent is the one that
//           differs in the fewest parameters, the best one of several.
//
// Where the sampler has nothing near, or comes to nothing but forbidden points, the whole space is
// drawn from. When nothing in the space is left, a place repeats the best parent, which costs
// nothing: its program is known.
//
// Bad input: a name that is no sampler's; a constraint without a value at some point; for other
// samplers than `local` a space of more than 2^62 points. Internal: no parent, one that lacks a
// parameter, or a place of none.
Result<std::vector<Proposal>> propose(const SweepRequest& request);

}  // namespace evolve::search
