#include "engine/report/table.h"

#include "tests/catch.h"

using namespace evolve;

TEST_CASE("a table's row is one line where there is no limit") {
  CHECK(table({{"a", "reason"}, {"longer", "two words"}}, "  ", 0) ==
        "  a       reason\n  longer  two words\n");
}

TEST_CASE(
    "a cell that is too long for the terminal goes on in further lines, and no word is lost") {
  const Rows rows = {{"id", "reason"}, {"v0001", "a sum is made in bf16, the spec asks for f32"}};
  CHECK(table(rows, "  ", 31) ==
        "  id     reason\n  v0001  a sum is made in bf16,\n         the spec asks for f32\n");
  CHECK(table(rows, "  ", 200) == table(rows, "  ", 0));
}

TEST_CASE("a word longer than its column is broken between characters") {
  CHECK(table({{std::string(13, 'x')}}, "", 12) == "xxxxxxxxxxxx\nx\n");
  CHECK(table({{"ääääääääääääü"}}, "", 12) == "ääääääääääää\nü\n");
  // No column becomes narrower than 12 characters.
  CHECK(table({{std::string(12, 'x'), std::string(12, 'y')}}, "", 5) ==
        std::string(12, 'x') + "  " + std::string(12, 'y') + "\n");
}
