// The sweep: a deterministic mutator that proposes points of the spec's parameters for a whole
// round, around the parents. Pure: the proposals depend on the request alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/space.h"

namespace evolve::search {

struct Parent {
  std::string id;  // "v0003"
  Point point;     // its values may be none of the space's
};

struct SweepRequest {
  const Space& space;
  std::vector<Parent> parents;  // the best first; at least one
  std::vector<Point> tried;     // by all rounds before
  uint64_t random_seed = 0;
  int round = 1;
  int count = 1;          // proposals wanted
  double explore = 0.25;  // share of them drawn from the whole space
};

struct Proposal {
  Point point;
  size_t parent = 0;   // index in the request's parents
  std::string note;    // what differs from the parent: "BLOCK_M 512 -> 1024"
  bool is_new = true;  // false: the space is exhausted and this repeats the parent
};

// Proposes `count` points that all constraints allow, no two alike, none tried before.
//
// The places of the round go to the parents in turn, the best one first. A place takes one of the
// nearest points to its parent that are left: one parameter one step up or down its list of values;
// when these are used up two steps in all, then three, then four. A value that is not in the list
// lies between its neighbours, one step from either. Every 1/explore-th place is drawn from the
// whole space instead, and so is a place whose parent has no near point left. When nothing in the
// space is left, a place repeats the best parent, which costs nothing: its program is known.
//
// Bad input: a constraint without a value at some point. Internal: no parent, or one that lacks a
// parameter.
Result<std::vector<Proposal>> propose(const SweepRequest& request);

}  // namespace evolve::search
