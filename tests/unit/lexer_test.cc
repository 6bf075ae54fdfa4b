// Tests of the lexer of manifests: tokens, the pieces of paths and values, and places of errors.
#include "engine/graph/lexer.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.h"

using namespace evolve;

namespace {

// Returns the names of a text's tokens, up to its end or to an error.
std::string tokens(const std::string& text) {
  Lexer lexer("f", text);
  std::string out;
  while (true) {
    const Token token = lexer.next();
    out += token_name(token);
    if (token == Token::end || token == Token::error) return out;
    out += ' ';
  }
}

// Returns pieces as one text, with variables as "<name>".
std::string shown(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.is_variable ? "<" + std::string(piece.text) + ">" : std::string(piece.text);
  }
  return out;
}

std::string shown(const Error& error) {
  return error.message + (error.detail.empty() ? "" : "\n" + error.detail);
}

// Returns the first path or value of a text, or the error.
enum class Kind { path, value };
std::string take(Kind kind, const std::string& text, bool has_newline_escape = false) {
  Lexer lexer("f", text);
  if (has_newline_escape) lexer.allow_newline_escape();
  std::vector<Piece> pieces;
  auto status = kind == Kind::path ? lexer.path(pieces) : lexer.value(pieces);
  return status ? shown(pieces) : shown(status.error());
}
std::string path(const std::string& text) {
  return take(Kind::path, text);
}
std::string value(const std::string& text) {
  return take(Kind::value, text);
}

// Returns the paths at the start of a text, each in brackets, and then the token that ends them.
std::string paths(const std::string& text) {
  Lexer lexer("f", text);
  std::string out;
  while (true) {
    std::vector<Piece> pieces;
    auto status = lexer.path(pieces);
    if (!status) return out + shown(status.error());
    if (pieces.empty()) return out + token_name(lexer.next());
    out += "[" + shown(pieces) + "] ";
  }
}

}  // namespace

TEST_CASE("each kind of token is read") {
  CHECK(tokens("build a: r b | c || d |@ e\n") ==
        "'build' identifier ':' identifier identifier '|' identifier '||' identifier '|@' "
        "identifier newline eof");
  CHECK(tokens("rule r\n  x = 1\n") ==
        "'rule' identifier newline indent identifier '=' identifier newline eof");
  CHECK(tokens("pool p\ndefault a\ninclude f\nsubninja g\n") ==
        "'pool' identifier newline 'default' identifier newline 'include' identifier newline "
        "'subninja' identifier newline eof");
  CHECK(tokens("") == "eof");
  CHECK(tokens("x") == "identifier eof");
}

TEST_CASE("signs need no blanks around them, and the longest one is read") {
  CHECK(tokens("a:b|c||d|@e=f") ==
        "identifier ':' identifier '|' identifier '||' identifier '|@' identifier '=' identifier "
        "eof");
  CHECK(tokens("|||@") == "'||' '|@' eof");
  CHECK(tokens("| |") == "'|' '|' eof");
}

TEST_CASE("a keyword is a whole word in small letters") {
  for (const char* word : {"builds", "build.x", "rebuild", "Build", "build-1", "rule_", "defaults",
                           "a.b-c_D9", "-", ".", "9"}) {
    CHECK(tokens(word) == "identifier eof");
  }
  CHECK(tokens("build:") == "'build' ':' eof");
}

TEST_CASE("blanks are an indent only before the first word of a line") {
  CHECK(tokens(" a  b \n") == "indent identifier identifier newline eof");
  CHECK(tokens("a\n   b\n") == "identifier newline indent identifier newline eof");
  // A line that has only blanks counts as an empty line.
  CHECK(tokens("a\n   \n\n") == "identifier newline newline newline eof");
  CHECK(tokens("a\r\n  \r\n b\r\n") == "identifier newline newline indent identifier newline eof");
  CHECK(tokens("a\n  ") == "identifier newline indent eof");
}

TEST_CASE("a comment is skipped with its line") {
  CHECK(tokens("# one\na\n   # two: $ ( \t\n#\nb\n") ==
        "identifier newline identifier newline eof");
  CHECK(tokens("  # indented\n  a\n") == "indent identifier newline eof");
  // As in Ninja, a comment has to end with a newline.
  CHECK(tokens("a\n# cut off") == "identifier newline lexing error");
}

TEST_CASE("a sign of comments within a path or a value is a part of it") {
  CHECK(paths("a#b #c\n") == "[a#b] [#c] newline");
  CHECK(value("a # b\n") == "a # b");
}

TEST_CASE("a line that goes on after a dollar is one line") {
  CHECK(tokens("build $\n  a $\r\n: $\n$\n r\n") ==
        "'build' identifier ':' identifier newline eof");
  CHECK(tokens("$\na\n") == "lexing error");  // a line cannot go on before its first word
}

TEST_CASE("tabs and other signs are not tokens, and a tab has a message of its own") {
  for (const char* text : {"\ta", "\t", "\t# comment\n"}) {
    Lexer lexer("f", text);
    CHECK(lexer.next() == Token::error);
    CHECK(lexer.bad_token() == std::string("tabs are not allowed, use spaces"));
  }
  for (const char* text : {"%", "/", "$x", "(", "\r", "\xef\xbb\xbf", "+"}) {
    Lexer lexer("f", text);
    CHECK(lexer.next() == Token::error);
    CHECK(lexer.bad_token() == std::string("lexing error"));
  }
}

TEST_CASE("a NUL ends the text") {
  const std::string text("a\n\0b\n", 5);
  CHECK(tokens(text) == "identifier newline eof");
  CHECK(value(std::string("x\0y\n", 4)).starts_with("f:1: unexpected EOF"));
}

TEST_CASE("a path ends at a blank, a colon, a bar and the end of its line") {
  CHECK(paths("a b:c\n") == "[a] [b] ':'");
  CHECK(paths("a  b|c\n") == "[a] [b] '|'");
  CHECK(paths("a|@b\n") == "[a] '|@'");
  CHECK(paths("a/b.c,+@(=\"'\t\\\n") == "[a/b.c,+@(=\"'\t\\] newline");
  CHECK(paths("a \r\nb\n") == "[a] newline");
  CHECK(paths("\na\n") == "newline");
  CHECK(paths(": a\n") == "':'");
}

TEST_CASE("a value is the rest of its line, signs and blanks included") {
  CHECK(value("a b: c | d || e |@ f = g \t \n h\n") == "a b: c | d || e |@ f = g \t ");
  CHECK(value("a \r\nb\n") == "a ");
  CHECK(value("\na\n").empty());
  Lexer lexer("f", "x =   a  b\ny\n");
  CHECK(lexer.identifier() == "x");
  CHECK(lexer.take(Token::equals));
  std::vector<Piece> pieces;
  REQUIRE(lexer.value(pieces));
  CHECK(shown(pieces) == "a  b");  // blanks before a value are not part of it
  CHECK(lexer.identifier() == "y");
}

TEST_CASE("a text without anything has no pieces") {
  std::vector<Piece> pieces;
  Lexer lexer("f", "\n\n");
  REQUIRE(lexer.path(pieces));
  REQUIRE(lexer.value(pieces));
  CHECK(pieces.empty());
  REQUIRE(lexer.value(pieces));
  CHECK(pieces.empty());
  CHECK(lexer.next() == Token::end);
}

TEST_CASE("escapes stand for what they escape, in paths as in values") {
  for (auto read : {path, value}) {
    CHECK(read("a$$b\n") == "a$b");
    CHECK(read("a$ b\n") == "a b");
    CHECK(read("a$:b\n") == "a:b");
    CHECK(read("$$$$$:\n") == "$$:");
    CHECK(read("$ $ a$ \n") == "  a ");
    CHECK(read("$$x\n") == "$x");
  }
  CHECK(paths("a$ b c$:d: e\n") == "[a b] [c:d] ':'");
}

TEST_CASE("a value or a path goes on in the next line, without that line's indent") {
  CHECK(value("a $\n    b$\n  c$\r\n   d\n") == "a bcd");
  CHECK(value("a$\n$ b\n") == "a b");
  CHECK(value("$\n\nb\n").empty());
  CHECK(paths("a$\n  b $\n  c\nd\n") == "[ab] [c] newline");
}

TEST_CASE("variables are told apart from the text around them") {
  for (auto read : {path, value}) {
    CHECK(read("a$b/c\n") == "a<b>/c");
    CHECK(read("$a$b${c}d\n") == "<a><b><c>d");
    CHECK(read("$a_b-9.c\n") == "<a_b-9>.c");  // dots are part of names only in braces
    CHECK(read("${a.b-c_9}.d\n") == "<a.b-c_9>.d");
    CHECK(read("$a:\n").starts_with("<a>"));
    CHECK(read("$$$a\n") == "$<a>");
    CHECK(read("${a}}\n") == "<a>}");
  }
}

TEST_CASE("a newline can be escaped only where the manifest requires a version that has it") {
  CHECK(take(Kind::value, "a$^b\n", true) == "a\nb");
  CHECK(take(Kind::path, "a$^$^b c\n", true) == "a\n\nb");
  CHECK(value("a$^b\n").starts_with(
      "f:1: using $^ escape requires specifying 'ninja_required_version' with version greater or "
      "equal 1.14"));
}

TEST_CASE("a dollar before anything else is an error at its place") {
  for (auto read : {path, value}) {
    for (const char* escape : {"$", "$.", "$?", "$/", "$|", "$\t", "$\r", "${", "${}", "${a b}",
                               "${a", "${$a}", "$(a)", "$\"", "$="}) {
      const std::string text = std::string("ab") + escape;
      CHECK(read(text) ==
            "f:1: bad $-escape (literal $ must be written as $$)\n" + text + "\n  ^ near here");
    }
  }
}

TEST_CASE("a path or a value that the end of the text cuts off is an error") {
  for (auto read : {path, value}) {
    CHECK(read("ab") == "f:1: unexpected EOF\nab\n  ^ near here");
    CHECK(read("ab$\n  ") == "f:2: unexpected EOF\n  \n  ^ near here");
    CHECK(read("a\rb\n") == "f:1: lexing error\na\rb\n ^ near here");
  }
}

TEST_CASE("an error shows the line of the last token, and points at it") {
  const std::string text = "first\n  second = third\nfourth\n";
  Lexer lexer("dir/f.ninja", text);
  auto error_at = [&](std::string_view word) {
    while (lexer.identifier() != word) lexer.next();
    return lexer.error("why");
  };
  CHECK(shown(error_at("first")) == "dir/f.ninja:1: why\nfirst\n^ near here");
  CHECK(shown(error_at("second")) == "dir/f.ninja:2: why\n  second = third\n  ^ near here");
  const Error error = error_at("third");
  CHECK(shown(error) == "dir/f.ninja:2: why\n  second = third\n           ^ near here");
  CHECK(error.code == ErrorCode::bad_input);
  CHECK(error.is_located);
  CHECK(lexer.next() == Token::newline);
  CHECK(shown(lexer.error("why")) ==
        "dir/f.ninja:2: why\n  second = third\n                ^ near here");
  CHECK(shown(error_at("fourth")) == "dir/f.ninja:3: why\nfourth\n^ near here");
  lexer.next();
  CHECK(lexer.next() == Token::end);
  CHECK(shown(lexer.error("why")) == "dir/f.ninja:4: why");  // the last line is empty
}

TEST_CASE("an error in a long line shows its beginning, if the place is in it") {
  const std::string start(70, 'a');
  CHECK(value(start + "$?" + std::string(70, 'b') + "\n") ==
        "f:1: bad $-escape (literal $ must be written as $$)\n" + start + "$?...\n" +
            std::string(70, ' ') + "^ near here");
  CHECK(value(start + "bb$?\n") == "f:1: bad $-escape (literal $ must be written as $$)");
}

TEST_CASE("an error in a line that goes on shows the part of it that is wrong") {
  CHECK(value("a $\n  b $?\n") ==
        "f:2: bad $-escape (literal $ must be written as $$)\n  b $?\n    ^ near here");
}

TEST_CASE("a token that is not the wanted one is left where it is") {
  Lexer lexer("f", "build a\n");
  CHECK_FALSE(lexer.take(Token::rule));
  CHECK_FALSE(lexer.take(Token::newline));
  CHECK(lexer.take(Token::build));
  CHECK_FALSE(lexer.take(Token::newline));
  CHECK(lexer.identifier() == "a");
  lexer.back();
  CHECK(lexer.next() == Token::identifier);
  lexer.back();
  CHECK(lexer.identifier() == "a");
  CHECK(lexer.take(Token::newline));
  CHECK(lexer.take(Token::end));
  CHECK(lexer.take(Token::end));
}

TEST_CASE("an indent that is not wanted is left for the next call") {
  Lexer lexer("f", "  a\n");
  CHECK_FALSE(lexer.take(Token::identifier));
  CHECK(lexer.take(Token::indent));
  CHECK(lexer.take(Token::identifier));
}

TEST_CASE("an identifier may be a keyword, and nothing is taken if there is none") {
  Lexer lexer("f", "build   rule.x = :\n");
  CHECK(lexer.identifier() == "build");
  CHECK(lexer.identifier() == "rule.x");
  CHECK(lexer.identifier().empty());
  CHECK(shown(lexer.error("why")) == "f:1: why\nbuild   rule.x = :\n               ^ near here");
  CHECK(lexer.take(Token::equals));
  CHECK(lexer.take(Token::colon));
  CHECK(lexer.identifier().empty());
  CHECK(lexer.take(Token::newline));
}
