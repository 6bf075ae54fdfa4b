// Static facts of a kernel, from libtpu's dumps other than its schedule: what it has in each memory
// and for how long, how its text uses the units, its fingerprint. Each dump is optional; without it
// the keys that come from it are missing. Schema in engine/ir/README.md.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/ir/model/program.h"
#include "engine/ir/readers/bundle_profile.h"
#include "engine/ir/readers/fingerprints.h"

namespace evolve::ir {

class StaticFacts {
 public:
  // Reads the dumps that describe all modules together. A dump that cannot be read counts as
  // missing, here and in add_to, and `unread` gets the reason: "<name>:<line>: …".
  StaticFacts(const Dumps& dumps, std::vector<std::string>& unread);

  // Adds what is known of a module to its facts. `dumps` are the dumps that the constructor read.
  void add_to(nlohmann::json& facts, const std::string& module, const Dumps& dumps,
              std::vector<std::string>& unread) const;

 private:
  std::map<std::string, Fingerprint> fingerprints_;
  std::map<std::string, InstructionProfile> profiles_;
};

}  // namespace evolve::ir
