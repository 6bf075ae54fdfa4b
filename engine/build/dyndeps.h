// The dyndep files of a build: each is read as soon as it is there, so that nobody starts before
// what it says is known.
#pragma once

#include <functional>
#include <utility>

#include "engine/build/plan.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class Dyndeps {
 public:
  // `tell` is told of each file that was read.
  Dyndeps(Graph& graph, Plan& plan, Files& files, std::function<void(NodeId file)> tell)
      : graph_(graph), plan_(plan), files_(files), tell_(std::move(tell)) {}

  // Reads a file that is up to date, once: edges that bind it have what it says, and those that use
  // what it says is made wait for that. Bad input, in Ninja's words: it is not there, or is none.
  Status read(NodeId file);
  // Reads the file that a ready edge binds, where it binds one. True: the edge has to wait for what
  // stands there.
  Result<bool> settle(EdgeId id);

 private:
  Graph& graph_;
  Plan& plan_;
  Files& files_;
  std::function<void(NodeId)> tell_;
};

}  // namespace evolve
