#include "engine/core/shallow_json.h"

namespace evolve {

nlohmann::json parse_shallow(std::string_view text) {
  using nlohmann::json;
  constexpr int kMostDepth = 32;
  struct TooDeep {};
  try {
    return json::parse(
        text,
        [](int depth, json::parse_event_t, json&) {
          if (depth > kMostDepth) throw TooDeep{};
          return true;
        },
        false);
  } catch (const TooDeep&) {
    return json(json::value_t::discarded);
  }
}

}  // namespace evolve
