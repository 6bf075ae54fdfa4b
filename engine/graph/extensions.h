// Extensions to Ninja: an edge's own variables that stock ninja ignores. A top-level variable with
// the same name has no effect, because a manifest that was not written for evolve may use that
// name, too. engine/README.md lists all extensions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/step_class.h"

namespace evolve {

// Amounts by the resource's name: bytes of "memory", places in a node pool (place_in()), or devices
// if the name is a kind of device.
using Resources = std::map<std::string, double>;

struct Extensions {
  StepClass step_class = StepClass::pure;  // class = measured
  Resources needs;                         // memory = 1.5 GiB; device = tpu 4
  int retries = 0;                         // how often a command that failed is run again
  std::set<int> final_exit_codes;          // exit codes after which the command is not retried
  double timeout_seconds = 0;              // 0: no limit
  bool is_tentative = false;               // tentative = 1
  bool is_sandboxed = false;               // sandbox = 1
  std::string node_pool;                   // node_pool = tpu: the machines that may run the edge

  bool operator==(const Extensions&) const = default;
};

// Returns the name of the resource that counts the places in a node pool. An edge in the pool needs
// one place. The pool exists if the capacity has an amount for that name.
std::string place_in(const std::string& node_pool);

struct Placement {
  bool is_elsewhere = false;  // the edge runs in its node pool, which exists
  Resources needs;            // one place in the pool, or the edge's needs on this machine
};
Placement placement_of(const Extensions& extensions, const Resources& capacity);

// Returns the value of one of an edge's own variables; empty: the edge has no variable of that
// name.
using VariableOf = std::function<std::string(std::string_view name)>;

// Reads the extensions of an edge. Bad input: a value has another form ("memory = lots: not a size,
// for example 1.5 GiB"), or the edge's variables contradict each other.
Result<Extensions> read_extensions(const VariableOf& variable);

// Parses "1.5 GiB", "512MiB", "20 GB", "20G" or "1000" into bytes. Units without an "i" are powers
// of 1000.
Result<double> parse_size(std::string_view text);

// Parses "memory=16GiB" or "tpu=4".
Result<Resources::value_type> parse_resource(std::string_view text);

}  // namespace evolve
