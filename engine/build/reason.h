// The reasons why an edge has to run. The look-up decides them, and each reporter puts them in its
// own words.
#pragma once

#include <string>
#include <vector>

namespace evolve {

struct Reason {
  enum class Kind {
    never_built,  // the edge has no record
    failed_last,
    always_new,   // `words`: an input that is new in every build
    changed,      // `part` of its key: "command"; `words`: "input 'x': a -> b"
    result_gone,  // nothing has changed, and no stored result is left
    other,        // `words`: from a rule other than the rule by content
  };
  Kind kind = Kind::never_built;
  std::string part = {};
  std::string words = {};

  bool operator==(const Reason&) const = default;
};

// Returns a reason in words, such as "never built", "x is always new" or "input 'x': a -> b".
std::string text_of(const Reason& reason);
std::vector<std::string> texts_of(const std::vector<Reason>& reasons);

}  // namespace evolve
