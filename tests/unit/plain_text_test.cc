// Tests of text for a terminal: which characters it may contain.
#include "engine/core/text/plain_text.h"

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"

using namespace evolve;

namespace {

// Control characters of C0 and C1, marks that change the writing direction, and other invisible
// marks.
const char* const kOrders[] = {"\x1b",   "\r",     "\x07",   "\x7f",   "\u0080", "\u009b",
                               "\u009f", "\u061c", "\u200e", "\u200f", "\u202a", "\u202e",
                               "\u2066", "\u2069", "\u2028", "\ufeff"};

}  // namespace

TEST_CASE("no control character is left, and its code is shown") {
  for (const std::string order : kOrders) {
    INFO(order);
    CHECK_FALSE(is_plain_line("a" + order + "b"));
    CHECK(plain_text("a" + order + "b").find(order) == std::string::npos);
    CHECK(one_line("a" + order + "b", 10) == "a b");
  }
  CHECK(plain_text("a\u009b2Jb") == "a\\u009b2Jb");
  CHECK(plain_text("\x1b[2J") == "\\u001b[2J");
}

TEST_CASE("words of any language stay, and lines") {
  const std::string text = "Grüße, \u4f60\u597d, \u05e9\u05dc\u05d5\u05dd, \U0001f680 ~";
  CHECK(plain_text(text) == text);
  CHECK(plain_line(text) == text);
  CHECK(is_plain_line(text));
  CHECK(plain_text("a\n\tb\n") == "a\n\tb\n");
  CHECK(plain_line("a\n\tb") == "a\\u000a\\u0009b");
  CHECK_FALSE(is_plain_line("a\nb"));
}

TEST_CASE("bytes that are not UTF-8 are not control characters, either") {
  CHECK(plain_text("a\x9b\xff"
                   "b") == "a\\ufffd\\ufffdb");
  CHECK(plain_text("\xe2\x82") == "\\ufffd\\ufffd");
  CHECK_FALSE(is_plain_line("\xc0\x9b"));
  CHECK(one_line("a\x9b"
                 "b",
                 10) == "a b");
}

TEST_CASE("in JSON the same character is read again") {
  const nlohmann::json value = {{"note", "a\u009b\u202e\x7f"}};
  const std::string shown = plain_text(value.dump(2));
  CHECK(shown.find("\u009b") == std::string::npos);
  CHECK(nlohmann::json::parse(shown) == value);
}

TEST_CASE("one line is cut between characters") {
  CHECK(one_line("  a \n b  ", 10) == "a b");
  CHECK(one_line("aßb", 2) == "a");
}
