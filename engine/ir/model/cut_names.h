// The whole names of modules whose dumps have shortened file names. libtpu cuts a module's name
// where the file's name would have more than 250 characters, and puts a hash in place of the rest:
// "kkk…-1041…-01-packed-bundles-post-ra.txt".
// The place of the cut and the hash differ from pass to pass.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// Returns the whole names by the cut names. Whole names come from two dumps of the program itself:
// fingerprints and HLO. A cut name is left out, and so stays cut, unless exactly one whole name
// begins with the part before its hash.
std::map<std::string, std::string> whole_names(const Dumps& dumps);

// Returns `by_name` with whole names in its keys, which are "module/stage.txt".
template <class Value>
std::map<std::string, Value> with_whole_names(std::map<std::string, Value> by_name,
                                              const std::map<std::string, std::string>& names) {
  if (names.empty()) return by_name;
  std::map<std::string, Value> out;
  for (auto& [name, value] : by_name) {
    const size_t slash = name.rfind('/');
    const auto whole = names.find(name.substr(0, slash));
    out.emplace(whole == names.end() ? name : whole->second + name.substr(slash), std::move(value));
  }
  return out;
}

}  // namespace evolve::ir
