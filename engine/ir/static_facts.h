// Static facts of a kernel, from libtpu's dumps other than its schedule: its allocations in each
// memory with their live ranges, the use of the units by its text, and its fingerprint. Each dump
// is optional. Without a dump, the facts from it are missing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/ir/facts.h"
#include "engine/ir/readers/bundle_profile.h"
#include "engine/ir/readers/fingerprints.h"

namespace evolve::ir {

class StaticFacts {
 public:
  // Reads the dumps that describe all modules together. A dump that cannot be read counts as
  // missing, here and in add_to, and `unread` gets the reason: "<name>:<line>: …".
  StaticFacts(const Dumps& dumps, std::vector<std::string>& unread);

  // Adds the static facts of the module that `facts` names. `dumps` are the dumps that the
  // constructor read.
  void add_to(KernelFacts& facts, const Dumps& dumps, std::vector<std::string>& unread) const;

 private:
  std::map<std::string, Fingerprint> fingerprints_;
  std::map<std::string, InstructionProfile> profiles_;
};

}  // namespace evolve::ir
