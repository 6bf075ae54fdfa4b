// The lexer of a Ninja manifest: tokens, and the text of paths and values with their variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/graph/graph.h"

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

// Returns a token's name in error messages: "'build'", "newline" …
const char* token_name(Token token);

// Reads one text from its start. Names and pieces are views into that text, or into constants.
class Lexer {
 public:
  // `text` must outlive the lexer and be followed by a NUL. A NUL within it ends the text, as in
  // Ninja.
  Lexer(std::string path, std::string_view text);

  Token next();
  // Goes back, so that next() returns the last token again.
  void back() { at_ = last_; }
  // Takes the next token if it is `wanted`, and returns whether it was.
  bool take(Token wanted);
  // Takes the identifier at the position and the blanks after it; empty: no identifier there.
  std::string_view identifier();
  // Appends the pieces of a path, up to a blank, ':' or '|', to `out`; no pieces: no path there.
  Status path(std::vector<Piece>& out) { return read(out, true); }
  // Appends the pieces of the rest of the line.
  Status value(std::vector<Piece>& out) { return read(out, false); }
  // Returns an error at the last token: "file:line: message", with the line and a caret below it.
  [[nodiscard]] Error error(const std::string& message) const;
  // Returns the message for the last token, which was an error.
  [[nodiscard]] const char* bad_token() const;
  // From here on "$^" stands for a newline (in a manifest that requires Ninja 1.14).
  void allow_newline_escape() { has_newline_escape_ = true; }

 private:
  Status read(std::vector<Piece>& out, bool is_path);
  // Reads the escape that begins with the '$' at the position.
  Status read_escape(std::vector<Piece>& out);
  Token taken(const char* from, const char* to, Token token);
  void skip_blanks();

  std::string path_;
  const char* begin_;
  const char* at_;
  const char* last_;  // where the last token began
  bool has_newline_escape_ = false;
};

}  // namespace evolve
