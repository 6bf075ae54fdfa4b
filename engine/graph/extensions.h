// What an edge says beyond Ninja, in variables of its own that stock ninja ignores. A variable of
// the file by such a name means nothing: manifests that know nothing of evolve have variables, too.
// The list of all of them is in engine/README.md.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/step_class.h"
#include "engine/graph/graph.h"

namespace evolve {

// Amounts by the resource's name: "memory" in bytes, any other is a kind of device, in pieces.
using Resources = std::map<std::string, double>;

struct Extensions {
  StepClass step_class = StepClass::pure;  // class = measured
  Resources needs;                         // memory = 1.5 GiB; device = tpu 4
  int retries = 0;                         // how often a command that failed is run again
  std::set<int> final_exit_codes;          // with which it failed for good
  double timeout_seconds = 0;              // 0: none
  bool is_sandboxed = false;               // sandbox = 1
  std::string node_pool;                   // node_pool = tpu: the machines that may run it
};

// What an edge that runs in a node pool needs one of. A pool is there where the capacity says how
// many of its places there are.
std::string place_in(const std::string& node_pool);

struct Placement {
  bool is_elsewhere = false;  // in its node pool, which is there
  Resources needs;            // a place there and nothing else, or what it needs on this machine
};
Placement placement_of(Extensions extensions, const Resources& capacity);

// Bad input where a value is not of its form: "memory = lots: not a size, as 1.5 GiB is".
Result<Extensions> extensions_of(const Graph& graph, EdgeId edge);

// "1.5 GiB", "512MiB", "20 GB", "20G", "1000": bytes; without an i the units are powers of 1000.
Result<double> parse_size(std::string_view text);

// "memory=16GiB", "tpu=4".
Result<Resources::value_type> parse_resource(std::string_view text);

}  // namespace evolve
