// Tests of text in HTML and XML, whatever its bytes.
#include "engine/core/text/markup.h"

#include "tests/catch.h"

using evolve::escaped_markup;

TEST_CASE("marks of markup are escaped, text stays") {
  CHECK(escaped_markup("a <b> & \"c\"\n\td") == "a &lt;b&gt; &amp; &quot;c&quot;\n\td");
  CHECK(escaped_markup("größer → 𝛼") == "größer → 𝛼");
}

TEST_CASE("what XML cannot hold becomes a question mark") {
  CHECK(escaped_markup(std::string("a\0b\x1b[2J", 7)) == "a?b?[2J");
  CHECK(escaped_markup("gr\xf6\xdf") == "gr??");
  CHECK(escaped_markup("\xe2\x86") == "??");
  CHECK(escaped_markup("\xc0\xaf") == "??");
  CHECK(escaped_markup("\xed\xa0\x80") == "???");
  CHECK(escaped_markup("\xef\xbf\xbe") == "???");
}
