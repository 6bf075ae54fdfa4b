// Tests of completion and of the manual pages, which are made from the table of commands.
#include "engine/options/completion.h"

#include <algorithm>

#include "engine/options/command_line.h"
#include "engine/options/manual.h"
#include "tests/catch.h"

using namespace evolve;
using options::Candidate;
using options::CommandLine;

namespace {

using Words = std::vector<std::string>;

// A program with a command that has commands of its own, and one that is hidden.
struct Library {
  Library() {
    auto lend = line.add_command("lend", "lend books");
    lend.add("reader", reader, "the reader").names("reader").required();
    lend.add("book", books, "the books").names("book");
    lend.add("-d,--days", days, "how long");
    lend.add("--cover", cover, "the cover").one_of({"hard", "soft"});
    lend.add("--quiet", is_quiet, "print nothing");
    lend.add("--shelf", shelf, "the shelf").from_environment("SHELF");
    auto reader_command = line.add_command("reader", "readers");
    reader_command.require_command();
    reader_command.add_command("add", "add a reader");
    reader_command.add_command("remove", "remove a reader");
    line.add_command("internal", "for scripts").hide();
  }

  // Returns the words that may stand at the last of `words`.
  [[nodiscard]] Words candidates(Words words) const {
    const std::string current = words.back();
    words.pop_back();
    const auto values = [](const std::string& kind, std::span<const std::string>) {
      std::vector<Candidate> out;
      if (kind == "reader") out = {{"ann", ""}, {"bob", ""}};
      if (kind == "book") out = {{"emma", ""}, {"ulysses", ""}};
      return out;
    };
    Words out;
    for (const Candidate& one : options::complete(line.describe(), words, current, values)) {
      out.push_back(one.word);
    }
    return out;
  }

  CommandLine line = CommandLine("library", "library: lends books", "library 1");
  std::string reader, cover, shelf;
  Words books;
  int days = 0;
  bool is_quiet = false;
};

std::string page(const std::string& name) {
  const Library library;
  for (const auto& one : options::manual_pages(library.line.describe(), "library 1")) {
    if (one.name == name) return one.text;
  }
  return {};
}

}  // namespace

TEST_CASE("commands are completed, but not the hidden ones") {
  const Library library;
  CHECK(library.candidates({""}) == Words{"lend", "reader"});
  CHECK(library.candidates({"le"}) == Words{"lend"});
  CHECK(library.candidates({"reader", ""}) == Words{"add", "remove"});
  CHECK(library.candidates({"help", "reader", "a"}) == Words{"add"});
  CHECK(library.candidates({"nosuch", "x"}).empty());
}

TEST_CASE("options are completed by their long names") {
  const Library library;
  CHECK(library.candidates({"lend", "--"}) ==
        Words{"--help", "--days", "--cover", "--quiet", "--shelf"});
  CHECK(library.candidates({"lend", "--co"}) == Words{"--cover"});
}

TEST_CASE("the value of an option is completed") {
  const Library library;
  CHECK(library.candidates({"lend", "--cover", ""}) == Words{"hard", "soft"});
  CHECK(library.candidates({"lend", "--cover=s"}) == Words{"--cover=soft"});
  // The value of --days is not one of the words without a name.
  CHECK(library.candidates({"lend", "--days", "3", "a"}) == Words{"ann"});
  CHECK(library.candidates({"lend", "-d", ""}).empty());
  CHECK(library.candidates({"lend", "--quiet", "b"}) == Words{"bob"});
}

TEST_CASE("words without a name are completed by their kinds, in their order") {
  const Library library;
  CHECK(library.candidates({"lend", ""}) == Words{"ann", "bob"});
  CHECK(library.candidates({"lend", "ann", ""}) == Words{"emma", "ulysses"});
  CHECK(library.candidates({"lend", "ann", "emma", "u"}) == Words{"ulysses"});
}

TEST_CASE("the manual has a page for each command") {
  Words names;
  const Library library;
  for (const auto& one : options::manual_pages(library.line.describe(), "library 1")) {
    names.push_back(one.name);
  }
  CHECK(names == Words{"library.1", "library-lend.1", "library-reader.1", "library-reader-add.1",
                       "library-reader-remove.1"});
}

TEST_CASE("a page has what the help has") {
  CHECK(page("library-lend.1") == R"(.TH "LIBRARY-LEND" 1 "" "library 1" "User Commands"
.SH NAME
library\-lend \- lend books
.SH SYNOPSIS
\fBlibrary lend\fR [\fIoptions\fR] \fIreader\fR [\fIbook\fR ...]
.SH ARGUMENTS
.TP
\fIreader\fR
the reader
.TP
\fIbook\fR ...
the books
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
print this help
.TP
\fB\-d\fR, \fB\-\-days\fR \fIINT\fR
how long
.TP
\fB\-\-cover\fR hard|soft
the cover
.TP
\fB\-\-quiet\fR
print nothing
.TP
\fB\-\-shelf\fR \fITEXT\fR
the shelf
.SH ENVIRONMENT
.TP
\fBSHELF\fR
the default of \-\-shelf
.SH SEE ALSO
\fBlibrary\fR(1)
)");
  CHECK(page("library.1").find("library \\- lends books\n") != std::string::npos);
}
