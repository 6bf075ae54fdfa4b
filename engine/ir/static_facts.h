// Facts of a kernel that libtpu's other dumps hold, beside its schedule: what it has in which
// memory and for how long, how it uses the units by its text, its fingerprint. Each dump is
// optional; without it the keys that come from it are not there. Schema in engine/ir/README.md.
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
  // Reads what the dumps say of all modules together. One that cannot be read counts as not there,
  // here and in add_to, and `unread` gets the reason: "<name>:<line>: …".
  StaticFacts(const Dumps& dumps, std::vector<std::string>& unread);

  // Adds what is known of a module to its facts. `dumps` are those that it was read from.
  void add_to(nlohmann::json& facts, const std::string& module, const Dumps& dumps,
              std::vector<std::string>& unread) const;

 private:
  std::map<std::string, Fingerprint> fingerprints_;
  std::map<std::string, InstructionProfile> profiles_;
};

}  // namespace evolve::ir
