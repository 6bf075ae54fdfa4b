// Tests of a build's note: what it contains, and what it must not contain.
#include "engine/build/build_note.h"

#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;

namespace {

// `inc` also reads the file `header`, if there is one.
const char* const kManifest =
    "rule inc\n  command = inc $out $in\n  depfile = $out.d\n"
    "rule cat\n  command = cat $out $in\n"
    "build mid: inc in || before\n"
    "build out: cat mid\n"
    "build all: phony out\n";

class NoteWorld : public World {
 public:
  NoteWorld() {
    runner.programs["inc"] = [](const auto& words, tests::FakeFiles& disk) {
      auto header = disk.files.find("header");
      disk.files[words[1]] =
          disk.files[words[2]] + (header == disk.files.end() ? "" : header->second);
      disk.files[words[1] + ".d"] = words[1] + ": " + words[2] + " header\n";
      return 0;
    };
    files.files["in"] = "1";
    files.files["before"] = "b";
  }

  std::optional<BuildNote> note_after_build() {
    auto targets = graph->targets(std::vector<std::string>{"all"});
    Lookup lookup = this->lookup();
    REQUIRE(build(*targets, lookup)->failed == 0);
    if (after_build) after_build(files);
    auto note = note_of(*graph, *targets, lookup);
    REQUIRE(note);
    return *note;
  }
  bool holds(BuildNote note) {
    bool is_changed = false;
    return *still_holds(note, files, is_changed);
  }

  std::function<void(tests::FakeFiles&)> after_build;
};

}  // namespace

TEST_CASE("a note holds until a file that was read, made or missed is another") {
  NoteWorld world;
  REQUIRE(world.load(kManifest));
  const bool has_header = GENERATE(false, true);
  if (has_header) world.files.files["header"] = "h";
  auto note = world.note_after_build();
  REQUIRE(note);
  CHECK(world.holds(*note));
  auto& files = world.files.files;
  SECTION("a source") {
    files["in"] = "2";
  }
  SECTION("a source that is gone") {
    files.erase("in");
  }
  SECTION("an output") {
    files["out"] = "2";
  }
  SECTION("an output between others") {
    files.erase("mid");
  }
  SECTION("what was discovered, or looked for") {
    files["header"] = "H";
  }
  SECTION("what has to be there") {
    files.erase("before");
  }
  CHECK(!world.holds(*note));
}

TEST_CASE("the same bytes again are the same file, and get a new stamp") {
  NoteWorld world;
  REQUIRE(world.load(kManifest));
  auto note = world.note_after_build();
  REQUIRE(note);
  note->files.front().state->stamp = {};
  bool is_changed = false;
  CHECK(*still_holds(*note, world.files, is_changed));
  CHECK(is_changed);
  CHECK(note->files.front().state->stamp != Digest{});
}

TEST_CASE("there is no note of a build from files that have changed since") {
  NoteWorld world;
  REQUIRE(world.load(kManifest));
  SECTION("an edited source") {
    world.after_build = [](auto& disk) { disk.files["in"] = "2"; };
  }
  SECTION("an edited output") {
    world.after_build = [](auto& disk) { disk.files["mid"] = "2"; };
  }
  SECTION("a header that came up since") {
    world.after_build = [](auto& disk) { disk.files["header"] = "h"; };
  }
  CHECK(!world.note_after_build());
}

TEST_CASE("there is no note of edges that run every time") {
  NoteWorld world;
  REQUIRE(
      world.load("rule cat\n  command = cat $out $in\nbuild always: phony\n"
                 "build out: cat in | always\nbuild all: phony out\n"));
  CHECK(!world.note_after_build());
}

TEST_CASE("a note is read as it was written, and one that was cut or changed anywhere is none") {
  BuildNote note;
  note.about = "some words";
  note.files = {{"a", FileState{digest_of("a"), digest_of("stamp")}},
                {"missing", std::nullopt},
                {"", FileState{digest_of("b"), {}}}};
  const std::string bytes = encode(note);
  auto read = decode_note(bytes);
  REQUIRE(read);
  CHECK(read->about == note.about);
  REQUIRE(read->files.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(read->files[i].path == note.files[i].path);
    CHECK(read->files[i].state == note.files[i].state);
  }
  CHECK(encode(*read) == bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK(!decode_note(bytes.substr(0, size)));
    std::string flipped = bytes;
    flipped[size] = static_cast<char>(flipped[size] ^ 0x40);
    CHECK(!decode_note(flipped));
  }
}
