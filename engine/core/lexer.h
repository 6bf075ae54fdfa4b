// Tokens of a Ninja manifest, and the text of paths and values with their variables.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/graph.h"
#include "engine/core/result.h"

namespace evolve {

enum class Token {
  build,
  colon,
  defaults,
  end,
  equals,
  error,
  identifier,
  include,
  indent,
  newline,
  pipe,
  pipe2,
  pipe_at,
  pool,
  rule,
  subninja,
};

// "'build'", "newline" … as they stand in error messages.
const char* token_name(Token token);

class Lexer {
 public:
  // `text` must outlive the lexer and, as Ninja demands, hold no NUL.
  Lexer(std::string path, std::string_view text) : path_(std::move(path)), text_(text) {}

  Token next();
  // Takes back the last token.
  void back() { position_ = last_; }
  // True, and the token is taken, where the next one is `wanted`.
  bool take(Token wanted);
  // The identifier at the position, blanks after it skipped; empty where there is none.
  std::string identifier();
  // A path up to a blank, ':' or '|'; empty where there is none.
  Result<Template> path();
  // The rest of the line.
  Result<Template> value();
  // An error at the last token: "file:line: message", with the line and a caret.
  [[nodiscard]] Error error(const std::string& message) const;
  // True where a tab is what could not be read.
  [[nodiscard]] bool at_tab() const { return peek() == '\t'; }

 private:
  Result<Template> read(bool is_path);
  // Reads what follows a '$' into `out`.
  Status read_escape(Template& out);
  void skip_blanks();
  [[nodiscard]] bool starts_with(std::string_view prefix) const {
    return text_.substr(position_).starts_with(prefix);
  }
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string path_;
  std::string_view text_;
  size_t position_ = 0;
  size_t last_ = 0;  // where the last token began
};

}  // namespace evolve
