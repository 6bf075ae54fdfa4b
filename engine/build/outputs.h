// The files of an edge around its command: put back from blobs, made ready for a run, and taken
// away after one that was cut off.
#pragma once

#include <map>
#include <optional>

#include "engine/build/collect.h"
#include "engine/build/lookup.h"
#include "engine/core/ports.h"
#include "engine/graph/graph.h"

namespace evolve {

class Outputs {
 public:
  // `links` may be null: there are none in what is put back, then.
  Outputs(Graph& graph, Lookup& lookup, Files& files, Links* links, BlobStore& blobs,
          const CommandRules& rules)
      : graph_(graph),
        lookup_(lookup),
        files_(files),
        links_(links),
        blobs_(blobs),
        rules_(rules) {}

  enum class Restored {
    not_at_all,  // a blob is gone
    before,      // all files were in place
    now,
  };
  // Puts a result's blobs where the edge's outputs belong.
  Result<Restored> restore(EdgeId id, const Hit& hit);
  // Makes the folders and the response file that the edge's command needs. Where the rules are
  // strict its outputs are gone, then.
  Status prepare(EdgeId id);
  // Of a command that has succeeded: its content is part of the key and of the manifest.
  Status remove_response_file(EdgeId id);
  // What a command that was cut off, or is to run again, had written of its outputs. An output that
  // it left as it was stays, a manifest that was being made anew above all.
  Status remove_half_written(EdgeId id);

 private:
  Graph& graph_;
  Lookup& lookup_;
  // Puts output `i` of a result back. False: what it was cannot be had.
  Result<bool> restore_one(EdgeId id, const ActionResult& result, size_t i);

  Files& files_;
  Links* links_;
  BlobStore& blobs_;
  const CommandRules& rules_;
  std::map<NodeId, std::optional<Digest>> before_;  // what lay where commands write
};

}  // namespace evolve
