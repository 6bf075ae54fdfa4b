#include "engine/core/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace evolve {

namespace {

// Names of rules and variables; a name in braces may also hold dots.
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}
bool is_short_name_char(char c) {
  return is_name_char(c) && c != '.';
}

constexpr std::array<std::pair<std::string_view, Token>, 6> kKeywords = {{
    {"build", Token::build},
    {"default", Token::defaults},
    {"include", Token::include},
    {"pool", Token::pool},
    {"rule", Token::rule},
    {"subninja", Token::subninja},
}};

}  // namespace

const char* token_name(Token token) {
  switch (token) {
    case Token::build: return "'build'";
    case Token::colon: return "':'";
    case Token::defaults: return "'default'";
    case Token::end: return "eof";
    case Token::equals: return "'='";
    case Token::error: return "lexing error";
    case Token::identifier: return "identifier";
    case Token::include: return "'include'";
    case Token::indent: return "indent";
    case Token::newline: return "newline";
    case Token::pipe: return "'|'";
    case Token::pipe2: return "'||'";
    case Token::pipe_at: return "'|@'";
    case Token::pool: return "'pool'";
    case Token::rule: return "'rule'";
    case Token::subninja: return "'subninja'";
  }
  return "";
}

void Lexer::skip_blanks() {
  while (true) {
    if (peek() == ' ') {
      ++position_;
    } else if (starts_with("$\n")) {
      position_ += 2;
    } else if (starts_with("$\r\n")) {
      position_ += 3;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  while (true) {
    last_ = position_;
    size_t blanks = 0;
    while (peek(blanks) == ' ') ++blanks;
    // A line of blanks and a comment is no line at all.
    if (peek(blanks) == '#') {
      size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end + 1;
      continue;
    }
    if (blanks > 0) {
      position_ += blanks;
      if (peek() == '\n' || starts_with("\r\n")) continue;
      return Token::indent;
    }
    break;
  }
  if (position_ >= text_.size()) return Token::end;
  auto take_text = [&](std::string_view text, Token token) {
    position_ += text.size();
    if (token != Token::newline) skip_blanks();
    return token;
  };
  if (starts_with("\r\n")) return take_text("\r\n", Token::newline);
  if (starts_with("\n")) return take_text("\n", Token::newline);
  if (starts_with("=")) return take_text("=", Token::equals);
  if (starts_with(":")) return take_text(":", Token::colon);
  if (starts_with("|@")) return take_text("|@", Token::pipe_at);
  if (starts_with("||")) return take_text("||", Token::pipe2);
  if (starts_with("|")) return take_text("|", Token::pipe);
  size_t length = 0;
  while (is_name_char(peek(length))) ++length;
  if (length == 0) return Token::error;
  std::string_view word = text_.substr(position_, length);
  for (const auto& [keyword, token] : kKeywords) {
    if (word == keyword) return take_text(keyword, token);
  }
  position_ += length;
  return Token::identifier;
}

bool Lexer::take(Token wanted) {
  if (next() == wanted) return true;
  back();
  return false;
}

std::string Lexer::identifier() {
  last_ = position_;
  size_t length = 0;
  while (is_name_char(peek(length))) ++length;
  std::string name(text_.substr(position_, length));
  position_ += length;
  skip_blanks();
  return name;
}

Status Lexer::read_escape(Template& out) {
  last_ = position_;
  ++position_;  // the '$'
  char c = peek();
  if (c == '$' || c == ' ' || c == ':') {
    out.add_text(std::string_view(&c, 1));
    ++position_;
    return {};
  }
  if (c == '^') {
    out.add_text("\n");
    ++position_;
    return {};
  }
  if (c == '\n' || starts_with("\r\n")) {
    position_ += c == '\n' ? 1 : 2;
    while (peek() == ' ') ++position_;
    return {};
  }
  bool braced = c == '{';
  size_t start = position_ + (braced ? 1 : 0);
  size_t end = start;
  while (end < text_.size() &&
         (braced ? is_name_char(text_[end]) : is_short_name_char(text_[end]))) {
    ++end;
  }
  bool closed = !braced || (end < text_.size() && text_[end] == '}');
  if (end == start || !closed) return error("bad $-escape (literal $ must be written as $$)");
  out.add_variable(text_.substr(start, end - start));
  position_ = end + (braced ? 1 : 0);
  return {};
}

Result<Template> Lexer::read(bool is_path) {
  Template out;
  size_t begin = position_;
  const std::string_view stops = is_path ? "$\r\n |:" : "$\r\n";
  while (true) {
    size_t end = std::min(text_.find_first_of(stops, position_), text_.size());
    if (end > position_) out.add_text(text_.substr(position_, end - position_));
    position_ = end;
    if (position_ >= text_.size()) {
      last_ = begin;
      return error("unexpected EOF");
    }
    if (peek() == '$') {
      if (auto status = read_escape(out); !status) return std::move(status).error();
      continue;
    }
    if (peek() == '\r' && !starts_with("\r\n")) {
      last_ = position_;
      return error("carriage returns are not allowed, use newlines");
    }
    break;
  }
  last_ = begin;
  if (is_path) {
    skip_blanks();
  } else {
    position_ += starts_with("\r\n") ? 2 : 1;
  }
  return out;
}

Result<Template> Lexer::path() {
  return read(true);
}
Result<Template> Lexer::value() {
  return read(false);
}

Error Lexer::error(const std::string& message) const {
  constexpr size_t kColumns = 72;
  size_t at = std::min(last_, text_.size());
  size_t line_start = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  size_t line_end = std::min(text_.find('\n', at), text_.size());
  auto line_number =
      1 + std::count(text_.begin(), text_.begin() + static_cast<long>(line_start), '\n');
  std::string detail;
  size_t column = at - line_start;
  if (column < kColumns && line_end > line_start) {
    std::string line(text_.substr(line_start, line_end - line_start));
    std::replace(line.begin(), line.end(), '\t', ' ');
    if (line.size() > kColumns) line = line.substr(0, kColumns) + "...";
    detail = line + "\n" + std::string(column, ' ') + "^ near here";
  }
  return bad_input(fmt::format("{}:{}: {}", path_, line_number, message), detail);
}

}  // namespace evolve
