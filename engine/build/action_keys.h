// The keys of edges, made from a graph and the digests in a FileTable.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/build/edge_key.h"
#include "engine/build/file_table.h"
#include "engine/core/action.h"
#include "engine/core/key.h"
#include "engine/core/machine_paths.h"

namespace evolve {

// What the keys of edges depend on, besides the manifest and the files.
struct BuildContext {
  std::vector<MachineBinding> machine;
  // The environment variables of this process. A key holds only those that its edge declares.
  std::map<std::string, std::string> environment;
};

class ActionKeys {
 public:
  // All references must outlive this.
  ActionKeys(const Graph& graph, FileTable& files, const BuildContext& context)
      : graph_(graph), files_(files), context_(context) {}

  // Returns the key of an edge, without its discovered inputs. REQUIRES: the digests of the inputs
  // that other edges make are set.
  Result<KeyWriter> declared(EdgeId edge);
  // Returns declared() of an edge that has run: `before`, the key from before the run, unless
  // folders are among the edge's inputs or `discovered` (symbolic paths). The command may have
  // written into these folders, so they count as the command left them.
  Result<KeyWriter> declared_after(EdgeId edge, const KeyWriter& before,
                                   std::span<const std::string> discovered);
  // Returns the key of an edge that read `discovered` (symbolic paths) in addition to its declared
  // inputs.
  Result<KeyWriter> full(EdgeId edge, const KeyWriter& declared,
                         std::span<const std::string> discovered);
  // Returns the digest of the key that full() returns. The parts of the key are not kept.
  Result<Digest> quick(EdgeId edge, std::span<const NodeId> discovered);
  // Computes the keys in `result` again, from the edge's present inputs.
  Status rekey(EdgeId edge, ActionResult& result);

  // Returns the variables that an edge declares in `environment = NAME …`, with their values. A
  // variable that is not set has the value "".
  using Variables = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Variables environment(EdgeId edge) const;
  // Returns the variables that an edge declares in `secrets = NAME …`, if they are set. The edge's
  // command may see them, and no key or record holds them.
  [[nodiscard]] Variables secrets(EdgeId edge) const;

  // Returns the name under which an edge is recorded: the path of its first output, without the
  // machine's paths.
  [[nodiscard]] std::string record_name(EdgeId edge) const;
  // Returns `text` with the roles in it, such as "{in3}" and "{out0}", replaced by the edge's
  // paths. The key of an edge with `portable = 1` has roles in place of paths.
  [[nodiscard]] std::string with_paths(EdgeId edge, std::string text) const;
  [[nodiscard]] std::span<const MachineBinding> machine() const { return context_.machine; }

 private:
  // Reads the digests of the edge's content inputs, and its environment, into inputs_.
  Status read_inputs(EdgeId edge);

  const Graph& graph_;
  FileTable& files_;
  const BuildContext& context_;
  InputDigests inputs_;
  KeyWriter quick_{KeyWriter::Keep::digests};
};

}  // namespace evolve
