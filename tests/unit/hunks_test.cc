// Tests of hunks: where two sequences differ, and how the difference between texts is shown.
#include "engine/core/text/hunks.h"

#include <random>
#include <string>

#include "engine/core/text/line_diff.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

std::vector<std::string_view> letters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size(); ++i) out.push_back(text.substr(i, 1));
  return out;
}

std::string told(std::string_view before, std::string_view after) {
  return text_of(line_changes(before, after));
}

}  // namespace

TEST_CASE("hunks are where two sequences differ") {
  CHECK(hunks(letters("abc"), letters("abc")).empty());
  CHECK(hunks({}, {}).empty());
  CHECK(hunks(letters("abcdef"), letters("abXdefY")) ==
        std::vector<Hunk>{{2, 3, 2, 3}, {6, 6, 6, 7}});
  CHECK(hunks(letters("abc"), {}) == std::vector<Hunk>{{0, 3, 0, 0}});
}

TEST_CASE("hunks turn one sequence into the other") {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string a, b;
    for (std::string* text : {&a, &b}) {
      const size_t size = random() % 12;
      while (text->size() < size) *text += static_cast<char>('a' + random() % 4);
    }
    std::string made;
    size_t at = 0;
    for (const Hunk& hunk : hunks(letters(a), letters(b))) {
      made += a.substr(at, hunk.old_begin - at) + b.substr(hunk.begin, hunk.end - hunk.begin);
      at = hunk.old_end;
    }
    CHECK(made + a.substr(at) == b);
  }
}

TEST_CASE("long sequences with nothing in common are one hunk") {
  const std::string a(3000, 'a'), b(3000, 'b');
  CHECK(hunks(letters(a), letters(b)) == std::vector<Hunk>{{0, 3000, 0, 3000}});
}

TEST_CASE("changed lines are named by their numbers in the newer text") {
  CHECK(told("a\nb\nc\n", "a\nb\nc\n").empty());
  CHECK(told("a\nb\nc\n", "a\nX\nc\n") == "line 2 differs");
  CHECK(told("a\nb\nc\nd\n", "a\nX\nY\nd\n") == "line 2 to 3 differ");
  CHECK(told("a\nb\n", "new\na\nb\n") == "line 1 is new");
  CHECK(told("a\nb\nc\n", "c\n") == "line 1 to 2 are gone");
  CHECK(told("a\nb\nc\n", "X\nb\nc\nd\n") == "line 1 differs, line 4 is new");
  CHECK(told("1\n2\n3\n4\n5\n6\n7\n", "A\n2\nB\n4\nC\n6\nD\n") ==
        "line 1 differs, line 3 differs, line 5 differs and 1 more place");
  CHECK(told("a", "a\n") == "line 1 differs");
  CHECK(told(std::string_view("a\0b", 3), "a\n").empty());
}
