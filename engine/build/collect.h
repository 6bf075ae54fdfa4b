// The collector of a command's results: the outputs as blobs, the discovered inputs, and the
// verdict.
#pragma once

#include <string>
#include <vector>

#include "engine/build/lookup.h"
#include "engine/core/ports.h"
#include "engine/graph/depfile.h"
#include "engine/graph/graph.h"

namespace evolve {

// A build's assumptions about its commands.
struct CommandRules {
  // True: a command starts without its outputs, and must write all outputs and the depfile that it
  // declares. False, for manifests that evolve did not write: a command starts with the files that
  // its last run left, as in Ninja. The command need not write the depfile or all outputs, but it
  // runs in every build if an output is missing.
  bool are_strict = true;
  bool keep_depfile = false;  // of `deps = gcc`; false: the file is removed after reading
  bool keep_rsp = false;      // the response file; false: removed if the command succeeds
  std::string machine;        // name of the machine that runs the commands, for the record
};

class Collector {
 public:
  // `links` may be null. Then the files to which links lead are stored.
  Collector(const Graph& graph, Lookup& lookup, Files& files, Links* links, BlobStore& blobs,
            Clock& clock, const CommandRules& rules)
      : graph_(graph),
        lookup_(lookup),
        files_(files),
        links_(links),
        blobs_(blobs),
        clock_(clock),
        rules_(rules) {}

  // Stores the outputs of a command that has ended, and returns its result. Removes the compiler's
  // list of inputs from `completed.output`, even if the command failed. An error with code `failed`
  // is the edge's; other errors are the build's.
  Result<ActionResult> collect(EdgeId id, const LookedUpEdge& finding, Completed& completed);

 private:
  // Returns the inputs, as symbolic paths, that the command read but the edge does not declare.
  Result<std::vector<std::string>> read_discovered(EdgeId id, Completed& completed);
  Result<std::vector<std::string>> read_depfile(EdgeId id, const std::string& kind);
  // Checks the outputs that a depfile names. Bad input: the first of them is the edge's first
  // output, and one of them is not an output of the edge.
  [[nodiscard]] Status check_depfile(EdgeId id, const Depfile& depfile) const;
  Result<Digest> store_output(EdgeId id, NodeId output);
  // Finds the outputs that are links: symbolic ones to anything, or hard ones to an input or an
  // earlier output.
  Result<std::vector<OutputLink>> find_links(EdgeId id, const std::vector<std::string>& discovered);
  // Adds to the discovered inputs each of the machine's paths that occurs in the outputs or in the
  // printed text, because in another clone the command would write another path.
  Status find_machine_paths(EdgeId id, ActionResult& result);
  // Returns the verdict in the edge's report; empty: the edge has no report.
  Result<std::string> read_verdict(EdgeId id);
  [[nodiscard]] Error command_error(EdgeId id, const Completed& completed) const;
  [[nodiscard]] std::string first_output(EdgeId id) const;

  const Graph& graph_;
  Lookup& lookup_;
  Files& files_;
  Links* links_;
  BlobStore& blobs_;
  Clock& clock_;
  const CommandRules& rules_;
};

}  // namespace evolve
