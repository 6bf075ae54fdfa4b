#include "engine/ir/model/cut_names.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "engine/ir/readers/fingerprints.h"

namespace evolve::ir {

namespace {

// Returns the part of a name before the hash in "kkk…-10412898245618000249". Empty: the name was
// not cut.
std::string_view cut_off(std::string_view module) {
  constexpr size_t kLeastCut = 100;  // characters left by any cut, however long the stage's name
  constexpr size_t kLeastDigits = 15, kMostDigits = 20;
  const size_t dash = module.rfind('-');
  if (dash == std::string_view::npos || dash < kLeastCut) return {};
  const std::string_view hash = module.substr(dash + 1);
  const bool is_hash = hash.size() >= kLeastDigits && hash.size() <= kMostDigits &&
                       hash.find_first_not_of("0123456789") == std::string_view::npos;
  return is_hash ? module.substr(0, dash) : std::string_view();
}

// Adds the names of HLO's instructions: "%gmm.1 = …".
void add_names(std::string_view hlo, std::set<std::string, std::less<>>& names) {
  for (size_t at = hlo.find('%'); at != std::string_view::npos; at = hlo.find('%', at + 1)) {
    const size_t end = hlo.find(' ', at);
    if (end != std::string_view::npos && hlo.substr(end).starts_with(" = "))
      names.emplace(hlo.substr(at + 1, end - at - 1));
  }
}

}  // namespace

std::map<std::string, std::string> whole_names(const Dumps& dumps) {
  std::map<std::string, std::string> cut;
  for (const auto& [name, text] : dumps) {
    const std::string module = name.substr(0, name.rfind('/'));
    if (const auto begin = cut_off(module); !begin.empty()) cut.emplace(module, begin);
  }
  if (cut.empty()) return {};
  std::set<std::string, std::less<>> names;
  if (auto text = dumps.find("TLP/all-fingerprints.txt"); text != dumps.end()) {
    // Fingerprints that cannot be read are reported elsewhere.
    if (auto read = read_fingerprints(text->second, text->first)) {
      for (Fingerprint& one : *read) names.insert(std::move(one.module));
    }
  }
  if (auto text = dumps.find("TLP/hlo.txt"); text != dumps.end()) add_names(text->second, names);
  std::map<std::string, std::string> out;
  for (const auto& [module, begin] : cut) {
    const auto first = names.lower_bound(begin);
    const auto behind = std::find_if(first, names.end(), [&begin = begin](const std::string& name) {
      return !name.starts_with(begin);
    });
    if (std::distance(first, behind) == 1) out.emplace(module, *first);
  }
  return out;
}

}  // namespace evolve::ir
