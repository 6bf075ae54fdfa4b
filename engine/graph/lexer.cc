#include "engine/graph/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace evolve {

namespace {

// Classes of characters, as bits.
constexpr uint8_t kName = 1;       // names of rules and variables
constexpr uint8_t kShortName = 2;  // names of variables without braces: no dots
constexpr uint8_t kPathEnd = 4;    // ends a literal piece of a path
constexpr uint8_t kValueEnd = 8;   // ends a literal piece of a value

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    bool is_short = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
    bool is_value_end = c == '\0' || c == '$' || c == '\n' || c == '\r';
    bool is_path_end = is_value_end || c == ' ' || c == ':' || c == '|';
    classes[static_cast<size_t>(c)] =
        static_cast<uint8_t>((is_short || c == '.' ? kName : 0) | (is_short ? kShortName : 0) |
                             (is_path_end ? kPathEnd : 0) | (is_value_end ? kValueEnd : 0));
  }
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t kind) {
  return (kClasses[static_cast<unsigned char>(c)] & kind) != 0;
}

Token keyword(std::string_view word) {
  if (word == "build") return Token::build;
  if (word == "rule") return Token::rule;
  if (word == "pool") return Token::pool;
  if (word == "default") return Token::defaults;
  if (word == "include") return Token::include;
  if (word == "subninja") return Token::subninja;
  return Token::identifier;
}

constexpr std::string_view kDollar = "$";
constexpr std::string_view kNewline = "\n";

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

Lexer::Lexer(std::string path, std::string_view text)
    : path_(std::move(path)), begin_(text.data()), at_(begin_), last_(begin_) {}

void Lexer::skip_blanks() {
  while (true) {
    if (*at_ == ' ') {
      ++at_;
    } else if (at_[0] == '$' && at_[1] == '\n') {
      at_ += 2;
    } else if (at_[0] == '$' && at_[1] == '\r' && at_[2] == '\n') {
      at_ += 3;
    } else {
      return;
    }
  }
}

Token Lexer::taken(const char* from, const char* to, Token token) {
  last_ = from;
  at_ = to;
  if (token != Token::newline && token != Token::end) skip_blanks();
  return token;
}

Token Lexer::next() {
  while (true) {
    const char* from = at_;
    const char* p = from;
    while (*p == ' ') ++p;
    if (*p == '#') {
      // A comment's whole line is skipped. A comment that the end of the text cuts off is an error.
      const char* end = p;
      while (*end != '\n' && *end != '\0') ++end;
      if (*end == '\n') {
        at_ = end + 1;
        continue;
      }
    }
    if (*p == '\n') return taken(from, p + 1, Token::newline);
    if (p[0] == '\r' && p[1] == '\n') return taken(from, p + 2, Token::newline);
    if (p != from) return taken(from, p, Token::indent);
    switch (*p) {
      case '\0': return taken(from, p, Token::end);
      case '=': return taken(from, p + 1, Token::equals);
      case ':': return taken(from, p + 1, Token::colon);
      case '|':
        if (p[1] == '@') return taken(from, p + 2, Token::pipe_at);
        if (p[1] == '|') return taken(from, p + 2, Token::pipe2);
        return taken(from, p + 1, Token::pipe);
      default: break;
    }
    while (is(*p, kName)) ++p;
    if (p == from) return taken(from, p + 1, Token::error);
    return taken(from, p, keyword({from, static_cast<size_t>(p - from)}));
  }
}

bool Lexer::take(Token wanted) {
  if (next() == wanted) return true;
  back();
  return false;
}

std::string_view Lexer::identifier() {
  last_ = at_;
  while (is(*at_, kName)) ++at_;
  std::string_view name(last_, static_cast<size_t>(at_ - last_));
  if (!name.empty()) skip_blanks();
  return name;
}

Status Lexer::read_escape(std::vector<Piece>& out) {
  const char* p = at_ + 1;
  if (*p == '$') {
    out.push_back({kDollar, false});
    at_ = p + 1;
    return {};
  }
  if (*p == ' ' || *p == ':') {
    out.push_back({{p, 1}, false});
    at_ = p + 1;
    return {};
  }
  if (p[0] == '\n' || (p[0] == '\r' && p[1] == '\n')) {
    p += *p == '\n' ? 1 : 2;
    while (*p == ' ') ++p;
    at_ = p;
    return {};
  }
  if (*p == '^') {
    if (!has_newline_escape_) {
      return error(
          "using $^ escape requires specifying 'ninja_required_version' with version greater or "
          "equal 1.14");
    }
    out.push_back({kNewline, false});
    at_ = p + 1;
    return {};
  }
  const bool is_braced = *p == '{';
  const char* name = is_braced ? p + 1 : p;
  const char* end = name;
  while (is(*end, is_braced ? kName : kShortName)) ++end;
  if (end == name || (is_braced && *end != '}')) {
    last_ = at_;
    return error("bad $-escape (literal $ must be written as $$)");
  }
  out.push_back({{name, static_cast<size_t>(end - name)}, true});
  at_ = is_braced ? end + 1 : end;
  return {};
}

Status Lexer::read(std::vector<Piece>& out, bool is_path) {
  const uint8_t stop = is_path ? kPathEnd : kValueEnd;
  while (true) {
    const char* from = at_;
    const char* p = from;
    while (!is(*p, stop)) ++p;
    if (p != from) out.push_back({{from, static_cast<size_t>(p - from)}, false});
    at_ = p;
    if (*p == '$') {
      TRY(read_escape(out));
      continue;
    }
    last_ = p;
    if (*p == '\0') return error("unexpected EOF");
    if (*p == '\r' && p[1] != '\n') return error("lexing error");
    break;
  }
  if (is_path) {
    skip_blanks();
  } else {
    at_ += *at_ == '\r' ? 2 : 1;
  }
  return {};
}

const char* Lexer::bad_token() const {
  return *last_ == '\t' ? "tabs are not allowed, use spaces" : "lexing error";
}

Error Lexer::error(const std::string& message) const {
  constexpr size_t kColumns = 72;
  auto line_number = 1 + std::count(begin_, last_, '\n');
  const char* line = last_;
  while (line > begin_ && line[-1] != '\n') --line;
  auto column = static_cast<size_t>(last_ - line);
  std::string detail;
  std::string_view shown(line, std::strcspn(line, "\n"));
  if (column < kColumns && !shown.empty()) {
    detail = fmt::format("{}{}\n{}^ near here", shown.substr(0, kColumns),
                         shown.size() > kColumns ? "..." : "", std::string(column, ' '));
  }
  Error error = bad_input(fmt::format("{}:{}: {}", path_, line_number, message), detail);
  error.is_located = true;
  return error;
}

}  // namespace evolve
