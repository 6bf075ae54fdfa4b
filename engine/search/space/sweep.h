// The sweep: the deterministic mutator that proposes points of the spec's parameters for a whole
// round. Pure: the proposals depend only on the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space/space.h"
#include "engine/search/variant.h"

namespace evolve::search {

struct Parent {
  VariantId id;
  Point point;  // its values may be outside of the space
};

// An earlier variant whose source differs from the parents' sources only in its parameters.
struct Trial {
  Point point;                 // its values may be outside of the space
  std::optional<double> cost;  // above 0, lower is better; nullopt: rejected
};

// A place that needs a proposal.
struct SweepPlace {
  size_t parent = 0;      // index in the request's parents
  bool explores = false;  // drawn from the whole space
};

struct SweepRequest {
  const Space& space;
  std::string sampler;               // one of sampler_names() (sampler.h)
  std::vector<Parent> parents = {};  // the best first; at least one
  std::vector<Trial> trials = {};    // of all rounds before, in the order of their ids
  uint64_t random_seed = 0;
  uint64_t stream = 0;  // of the random numbers; each round, and each request in it, has its own
  std::vector<SweepPlace> places;
};

// Whether proposal number `ordinal`, from 0, of a campaign's sweep explores. Proposals that explore
// are spread evenly: with a share of 1/4, every fourth proposal explores.
bool explores(size_t ordinal, double share);

struct SweepVariant {
  Point point;
  size_t parent = 0;   // index in the request's parents
  std::string note;    // what differs from the parent: "BLOCK_M 512 -> 1024"
  bool is_new = true;  // false: the space is exhausted and this repeats the parent
};

// Proposes a point for each place. All constraints allow the point, no two points are the same, and
// no point was tried before or is the point of a parent.
//
// A place that explores draws from the whole space by chance. The sampler chooses for the others:
//
//   local   A place takes one of the nearest points to its parent that are left. At first one
//           parameter moves one step up or down its list of values. When these points are used up,
//           the distance is two steps in all, then three, then four. If a value is not in the list,
//           either neighbour is one step away. The value stays as it is if the steps are in other
//           parameters.
//   others  The sampler gets the trials whose values are in the space. Without any trials, it gets
//           the parents, at a cost of 1 each. Then it gives points. If the constraints forbid a
//           point, the sampler learns that the point is not valid. The proposal's parent is the
//           parent that differs in the fewest parameters; of several, the best one.
//
// If the sampler finds no near point, or gives only forbidden points, the place draws from the
// whole space. If no point of the space is left, a place repeats the best parent. That costs
// nothing, because the parent's program is known.
//
// Bad input: an unknown sampler; a constraint without a value at some point; a space of more than
// 2^62 points, for samplers other than `local`. Internal error: no parent, a parent that lacks a
// parameter, or a place without a parent.
Result<std::vector<SweepVariant>> propose(const SweepRequest& request);

}  // namespace evolve::search
