// Why an edge has to run: decided by the look-up, and worded by whoever reports it.
#pragma once

#include <string>
#include <vector>

namespace evolve {

struct Reason {
  enum class Kind {
    never_built,  // no record of it
    failed_last,
    always_new,   // `words`: an input that is new in every build
    changed,      // `part` of its key: "command"; `words`: "input 'x': a -> b"
    result_gone,  // nothing has changed, and no stored result is left
    other,        // `words`, of another rule than the rule by content
  };
  Kind kind = Kind::never_built;
  std::string part = {};
  std::string words = {};

  bool operator==(const Reason&) const = default;
};

// "never built", "x is always new", "input 'x': a -> b".
std::string text_of(const Reason& reason);
std::vector<std::string> texts_of(const std::vector<Reason>& reasons);

}  // namespace evolve
