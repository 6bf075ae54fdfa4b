// What a check of the surroundings found: `evolve doctor` and `evolve cluster doctor`.
#pragma once

#include <string>

namespace evolve {

struct Finding {
  enum class State {
    good,
    missing,  // without it, campaigns do not run
    notice,   // unknown, or worth knowing
  };
  State state = State::good;
  std::string subject;    // "reachable"
  std::string text;       // "Kubernetes v1.34.4 at https://…"
  std::string hint = {};  // what to do if it is missing
};

}  // namespace evolve
