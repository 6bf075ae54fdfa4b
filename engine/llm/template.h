// Templates of prompts: text with slots. `{{slot}}` is replaced by the slot's text. The text
// between lines `{{#slot}}` and `{{/slot}}` is left out if the slot is empty. Such sections may be
// nested.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve::llm {

// The names of all slots.
const std::vector<std::string>& slot_names();

class PromptTemplate {
 public:
  // Reads a template. Bad input: an unknown slot, or a section that is not closed. The error has
  // the file, line, column and the nearest name. `path` is for messages.
  static Result<PromptTemplate> parse(std::string_view text, const std::string& path);

  // Fills the slots. Slots missing from `slots` are empty. A slot's text is never searched for
  // slots.
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
