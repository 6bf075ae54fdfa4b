// The whole names of modules whose dumps' file names were cut. libtpu cuts a module's name where
// the file's would have more than 250 characters, and puts a hash in its place:
// "kkk…-1041…-01-packed- bundles-post-ra.txt". Both differ from pass to pass.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/ir/model/program.h"

namespace evolve::ir {

// By the modules' names as they are cut: the names that the program's own dumps, fingerprints and
// HLO, have whole. A cut name that two of them begin with stays as it is.
std::map<std::string, std::string> whole_names(const Dumps& dumps);

// The same by whole names. Of `by_name` the keys are "module/stage.txt".
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
