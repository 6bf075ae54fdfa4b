// The files of an edge around its command: restored from blobs, prepared for a run, and removed
// after a run that was cut off.
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
  // `links` may be null. Then a link is restored as a plain file.
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
  // Puts a result's blobs at the paths of the edge's outputs.
  Result<Restored> restore(EdgeId id, const Hit& hit);
  // Makes the folders and the response file that the edge's command needs. With strict rules, also
  // removes the edge's outputs.
  Status prepare(EdgeId id);
  // Removes the response file of a command that has succeeded. Its content is still in the key and
  // in the manifest.
  Status remove_response_file(EdgeId id);
  // Removes the outputs of a command that was cut off, or is to run again. If the edge has no
  // depfile, an output that the command left unchanged stays. This matters most for a manifest that
  // was being regenerated.
  Status remove_half_written(EdgeId id);

 private:
  Graph& graph_;
  Lookup& lookup_;
  // Restores output `i` of a result. False: its content is not available.
  Result<bool> restore_one(EdgeId id, const ActionResult& result, size_t i);

  Files& files_;
  Links* links_;
  BlobStore& blobs_;
  const CommandRules& rules_;
  std::map<NodeId, std::optional<Digest>> before_;  // contents before a run; nullopt: no file
};

}  // namespace evolve
