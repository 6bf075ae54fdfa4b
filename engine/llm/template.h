// Templates of prompts: text with slots. `{{slot}}` is replaced by the slot's text; what stands
// between lines `{{#slot}}` and `{{/slot}}` is left out where the slot is empty, and may be nested.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::llm {

// The slots that there are.
const std::vector<std::string>& slot_names();

class Template {
 public:
  // Bad input: an unknown slot, or a section that is not closed, with file, line, column and the
  // nearest name. `path` is for messages.
  static Result<Template> parse(std::string_view text, const std::string& path);

  // Slots that are not in `slots` are empty. What a slot's text holds is never read as a slot.
  [[nodiscard]] std::string fill(const std::map<std::string, std::string>& slots) const;

 private:
  enum class Kind { text, slot, open, close };
  struct Piece {
    Kind kind;
    std::string text;  // or the slot's name
  };
  std::vector<Piece> pieces_;
};

}  // namespace evolve::llm
