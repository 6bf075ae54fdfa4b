// What a command left behind: its outputs as blobs, the inputs that it discovered, its verdict.
#pragma once

#include <string>
#include <vector>

#include "engine/build/lookup.h"
#include "engine/core/ports.h"
#include "engine/graph/depfile.h"
#include "engine/graph/graph.h"

namespace evolve {

// What a build takes for granted of its commands.
struct CommandRules {
  // True: outputs are gone when a command starts and there when it has ended, and a depfile that is
  // declared is written. False, for manifests of others, as in Ninja: a command finds what its last
  // run left, may write no output (it runs every time, then) and no depfile.
  bool are_strict = true;
  bool keep_depfile = false;  // of `deps = gcc`, which is removed once it was read
  bool keep_rsp = false;      // a response file, which is removed where the command succeeded
  std::string machine;        // the name of the machine that they run on, for the record
};

class Collector {
 public:
  // `links` may be null: what links lead to is stored, then.
  Collector(const Graph& graph, Lookup& lookup, Files& files, Links* links, BlobStore& blobs,
            Clock& clock, const CommandRules& rules)
      : graph_(graph),
        lookup_(lookup),
        files_(files),
        links_(links),
        blobs_(blobs),
        clock_(clock),
        rules_(rules) {}

  // The result of a command that has ended, with its outputs stored. What the compiler told of its
  // inputs is taken out of `completed.output`, of a command that failed too. An error of code
  // `failed` is the edge's; others are the build's.
  Result<ActionResult> collect(EdgeId id, const Finding& finding, Completed& completed);

 private:
  // The inputs, as symbolic paths, that were not declared.
  Result<std::vector<std::string>> read_discovered(EdgeId id, Completed& completed);
  Result<std::vector<std::string>> read_depfile(EdgeId id, const std::string& kind);
  // Bad input: it names an output that the edge does not have, beside the one that it has.
  [[nodiscard]] Status check_depfile(EdgeId id, const Depfile& depfile) const;
  Result<Digest> store_output(EdgeId id, NodeId output);
  // Which outputs are links: to anything, or under another name an input or an earlier output.
  Result<std::vector<OutputLink>> find_links(EdgeId id, const std::vector<std::string>& discovered);
  // Adds to what was discovered the machine's paths that stand in what the command gave: in another
  // clone it would have given something else.
  Status find_machine_paths(EdgeId id, ActionResult& result);
  // The verdict in the edge's report, where it has one.
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
