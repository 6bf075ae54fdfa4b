#include "engine/build/reason.h"

namespace evolve {

std::string text_of(const Reason& reason) {
  switch (reason.kind) {
    case Reason::Kind::never_built: return "never built";
    case Reason::Kind::failed_last: return "failed last time";
    case Reason::Kind::always_new: return reason.words + " is always new";
    case Reason::Kind::result_gone: return "its stored result is gone";
    case Reason::Kind::changed:
    case Reason::Kind::other: break;
  }
  return reason.words;
}

std::vector<std::string> texts_of(const std::vector<Reason>& reasons) {
  std::vector<std::string> out;
  out.reserve(reasons.size());
  for (const Reason& reason : reasons) out.push_back(text_of(reason));
  return out;
}

}  // namespace evolve
