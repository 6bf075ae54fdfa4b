// The dyndep files of a build. Each is read as soon as it exists, so that no edge starts before the
// file's inputs and outputs are known.
#pragma once

#include <functional>
#include <utility>

#include "engine/build/plan.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class Dyndeps {
 public:
  // Calls `tell` for each file that was read.
  Dyndeps(Graph& graph, BuildPlan& plan, Files& files, std::function<void(NodeId file)> tell)
      : graph_(graph), plan_(plan), files_(files), tell_(std::move(tell)) {}

  // Reads a file that is up to date, once. Edges that bind the file get its inputs and outputs.
  // Edges that use one of these outputs wait for the edge that makes it. Bad input, in Ninja's
  // words: the file is missing, or is not a dyndep file.
  Status read(NodeId file);
  // Reads the file that a ready edge binds, if it binds one. True: the edge has to wait for inputs
  // that the file names.
  Result<bool> settle(EdgeId id);

 private:
  Graph& graph_;
  BuildPlan& plan_;
  Files& files_;
  std::function<void(NodeId)> tell_;
};

}  // namespace evolve
