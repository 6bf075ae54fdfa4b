// Tests of a build's files over a disk in memory: when files are read, which files are always new,
// and which files were changed while a command ran.
#include "engine/build/file_table.h"

#include "engine/build/command.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;

namespace {

// A disk with folders, which counts the look-ups of each path.
class Disk : public tests::FakeFiles {
 public:
  std::map<std::string, int> looks;

  Result<std::optional<FileState>> look(const std::string& path, const FileState* before) override {
    ++looks[path];
    if (folders.contains(path)) return std::optional(FileState{folder_digest(), {}, 0});
    return FakeFiles::look(path, before);
  }
  // Makes a folder with these names in it, one name per line.
  void set_folder(const std::string& path, const std::string& names) {
    folders.insert(path);
    files[path] = names;
  }
};

// The files of one build of a manifest whose rule is `cat`.
struct Tree {
  Disk disk;
  Graph graph;
  Snapshot snapshot;
  std::vector<MachineBinding> machine;
  std::optional<FileTable> table;

  explicit Tree(const std::string& manifest, const std::map<std::string, std::string>& files = {},
                const std::vector<MachineBinding>& bindings = {})
      : machine(bindings) {
    disk.files = files;
    const std::string text = "rule cat\n  command = cat $out $in\n" + manifest;
    REQUIRE(parse_manifest(
        "build.ninja", [&](const std::string&) { return Result<std::string>(text); }, graph));
    table.emplace(graph, disk, snapshot, machine);
  }

  NodeId node(const std::string& path) { return *graph.find_node(path); }
  EdgeId maker(const std::string& path) { return *graph.node(node(path)).made_by; }
  // Returns the digest of an input of the edge that makes `out`.
  Digest digest(const std::string& path, const std::string& out = "out") {
    auto digest = table->digest(node(path), maker(out));
    REQUIRE(digest);
    return *digest;
  }
  void settle(const std::string& phony) { REQUIRE(table->settle_phony(maker(phony))); }
  bool is_always_new(const std::string& path) { return table->is_always_new(node(path)); }

  // Returns the path of a source that the edge of `out` has read and that was changed since; "": no
  // source was changed.
  std::string changed(const FileTable::Since& since, bool is_strict,
                      const std::vector<std::string>& discovered = {},
                      const std::string& out = "out") {
    auto node = table->changed_since(maker(out), discovered, since, is_strict);
    REQUIRE(node);
    return *node ? graph.path(**node) : "";
  }
};

}  // namespace

TEST_CASE("a source is read once, and all keys of a build are made from what it was then") {
  Tree tree("build a: cat in\nbuild b: cat in\n", {{"in", "1"}});
  CHECK(tree.digest("in", "a") == content_digest("1"));
  tree.disk.files["in"] = "2";
  CHECK(tree.digest("in", "b") == content_digest("1"));
  CHECK(tree.disk.looks["in"] == 1);
}

TEST_CASE("the digest of a missing source is bad input, in Ninja's words, until it is there") {
  Tree tree("build out log: cat in\n");
  auto digest = tree.table->digest(tree.node("in"), tree.maker("log"));
  REQUIRE_FALSE(digest);
  CHECK(digest.error().code == ErrorCode::bad_input);
  CHECK(digest.error().message == "'in', needed by 'out', missing and no known rule to make it");
  CHECK_FALSE(tree.table->known_digest(tree.node("in")));
  tree.disk.files["in"] = "1";
  CHECK(tree.digest("in") == content_digest("1"));
}

TEST_CASE("a source whose look-up fails is not taken to be missing") {
  Tree tree("build out: cat in\n", {{"in", "1"}});
  tests::FaultPlan faults;
  faults.fail_at = 1;
  tree.disk.faults = &faults;
  auto digest = tree.table->digest(tree.node("in"), tree.maker("out"));
  REQUIRE_FALSE(digest);
  CHECK(digest.error().code == ErrorCode::external);
}

TEST_CASE("a file that an edge makes is known once it was set, whatever lies there before") {
  Tree tree("build mid: cat in\nbuild out: cat mid\n", {{"in", "1"}, {"mid", "old"}});
  const NodeId mid = tree.node("mid");
  CHECK(tree.table->knows(tree.node("in")));
  CHECK_FALSE(tree.table->knows(mid));
  CHECK_FALSE(tree.table->known_digest(mid));
  tree.table->set_state(mid, {content_digest("new"), {}, 7});
  CHECK(tree.table->knows(mid));
  CHECK(tree.digest("mid") == content_digest("new"));
  CHECK(tree.snapshot.file(mid)->changed == 7);
  CHECK(tree.disk.looks["mid"] == 0);
}

TEST_CASE("a file that becomes known late has a digest like the others") {
  Tree tree("build out: cat in\n", {{"in", "1"}});
  const NodeId late = tree.graph.node("late");
  CHECK_FALSE(tree.table->known_digest(late));
  CHECK_FALSE(tree.table->is_always_new(late));
  tree.table->set_digest(late, content_digest("1"));
  CHECK(tree.table->known_digest(late) == content_digest("1"));
  CHECK(tree.digest("in") == content_digest("1"));
}

TEST_CASE("an output that is gone or changed is no longer up to date") {
  Tree tree("build out: cat in\n", {{"out", "1"}});
  const NodeId out = tree.node("out");
  REQUIRE(tree.table->look(out));
  tree.snapshot.set_edge(tree.maker("out"), {digest_of("key"), 1, {}});
  REQUIRE(tree.table->look(out));
  CHECK(tree.snapshot.edge(tree.maker("out")));
  SECTION("gone") {
    tree.disk.files.erase("out");
    CHECK_FALSE(*tree.table->look(out));
  }
  SECTION("changed") {
    tree.disk.files["out"] = "2";
    CHECK((*tree.table->look(out))->content == content_digest("2"));
  }
  CHECK_FALSE(tree.snapshot.edge(tree.maker("out")));
}

TEST_CASE("a folder is the names in it") {
  Tree tree("build out: cat src\n", {{"src/a", "1"}});
  tree.disk.set_folder("src", "a\n");
  const Digest before = tree.digest("src");
  auto read_again = [&] {
    CHECK(tree.table->forget_folders(tree.maker("out"), {}));
    return tree.digest("src");
  };
  tree.disk.files["src/a"] = "2";
  CHECK(read_again() == before);
  tree.disk.set_folder("src", "a\nb\n");
  CHECK(read_again() != before);
  // The names of records that builds keep in the folder do not count.
  tree.disk.set_folder("src", ".evolve\n.ninja_deps\n.ninja_log\na\n");
  CHECK(read_again() == before);
  // The digest of an empty folder differs from that of a folder of which only the existence counts.
  tree.disk.set_folder("src", "");
  CHECK(read_again() != folder_digest());
}

TEST_CASE("a folder counts as it was found until it is forgotten") {
  Tree tree("build out: cat in src\nbuild other: cat in || src\n", {{"in", "1"}});
  tree.disk.set_folder("src", "a\n");
  const Digest before = tree.digest("src");
  tree.digest("in");
  tree.disk.set_folder("src", "a\nb\n");
  tree.disk.files["in"] = "2";
  CHECK(tree.digest("src") == before);
  SECTION("an edge that does not read it leaves it as it was") {
    CHECK_FALSE(tree.table->forget_folders(tree.maker("other"), {}));
    CHECK(tree.digest("src") == before);
  }
  SECTION("one that reads it forgets it, and no file") {
    CHECK(tree.table->forget_folders(tree.maker("out"), {}));
    CHECK(tree.digest("src") != before);
    CHECK(tree.digest("in") == content_digest("1"));
  }
  SECTION("one that has discovered it does, too") {
    CHECK(tree.table->forget_folders(tree.maker("other"), std::vector<std::string>{"src"}));
    CHECK(tree.digest("src") != before);
  }
}

TEST_CASE("a phony edge stands for its inputs, but not for those that it only waits for") {
  auto digest = [](const std::string& a, const std::string& b) {
    Tree tree("build all: phony a b || later\n", {{"a", a}, {"b", b}});
    tree.settle("all");
    CHECK_FALSE(tree.is_always_new("all"));
    return *tree.table->known_digest(tree.node("all"));
  };
  CHECK(digest("1", "2") == digest("1", "2"));
  CHECK(digest("1", "2") != digest("1", "3"));
  CHECK(digest("1", "2") != digest("2", "1"));
}

TEST_CASE("a phony edge that names a missing source is bad input") {
  Tree tree("build all: phony gone\n");
  auto settled = tree.table->settle_phony(tree.maker("all"));
  REQUIRE_FALSE(settled);
  CHECK(settled.error().message == "'gone', needed by 'all', missing and no known rule to make it");
}

TEST_CASE("a phony edge without inputs stands for the file under its name") {
  auto digest = [](const std::string& content) {
    Tree tree("build header: phony\n", {{"header", content}});
    tree.settle("header");
    CHECK_FALSE(tree.is_always_new("header"));
    return *tree.table->known_digest(tree.node("header"));
  };
  CHECK(digest("1") == digest("1"));
  CHECK(digest("1") != digest("2"));
}

TEST_CASE("a phony edge with neither inputs nor a file is always new, and so are its users") {
  Tree tree(
      "build always: phony\nbuild group: phony in always\nbuild far: phony group\n"
      "build waits: phony in || always\nbuild checked: phony |@ out\n"
      "build there gone: phony\nbuild out: cat in\n",
      {{"in", "1"}, {"there", "1"}});
  for (const char* name : {"always", "group", "far", "waits", "checked", "there"})
    tree.settle(name);
  for (const char* name : {"always", "group", "far", "gone"}) {
    INFO(name);
    CHECK(tree.is_always_new(name));
    CHECK(tree.table->knows(tree.node(name)));
  }
  for (const char* name : {"waits", "checked", "there", "in", "out"}) {
    INFO(name);
    CHECK_FALSE(tree.is_always_new(name));
  }
}

TEST_CASE("a discovered file is the same part of a key wherever this machine has it") {
  auto part = [](const std::string& work, const std::string& content) {
    Tree tree("build out: cat in\n", {{work + "/h", content}}, {{"work", work}});
    const NodeId node = tree.table->discovered_node("$work/h");
    CHECK(tree.graph.path(node) == work + "/h");
    return *tree.table->discovered_part(node);
  };
  CHECK(part("/home/me", "1") == part("elsewhere/w", "1"));
  CHECK(part("/home/me", "1") != part("/home/me", "2"));
}

TEST_CASE("a discovered file may be missing, and a machine's path counts as it is") {
  Tree tree("build out: cat in\n", {{"h", "1"}}, {{"work", "/home/me"}});
  auto value = [&](const std::string& path) {
    return *tree.table->discovered_value(tree.table->discovered_node(path));
  };
  CHECK(value("h") == content_digest("1").hex());
  CHECK(value("gone") == "missing");
  CHECK(value("$work") == "/home/me");
  CHECK(tree.disk.looks["/home/me"] == 0);
}

TEST_CASE("a file that was not changed while a command ran counts as unchanged") {
  Tree tree("build out: cat in\n", {{"in", "1"}, {"h", "1"}});
  tree.disk.changed = {{"in", 5}, {"h", 5}};
  tree.digest("in");
  CHECK(tree.changed({tree.table->moment(), 10}, GENERATE(false, true), {"h", "gone"}) == "");
}

TEST_CASE("a source with other bytes was changed, and keys are made from these from then on") {
  Tree tree("build out: cat in\n", {{"in", "1"}, {"h", "1"}});
  const bool is_strict = GENERATE(false, true);
  tree.digest("in");
  const NodeId header = tree.table->discovered_node("h");
  const Digest part = *tree.table->discovered_part(header);
  const FileTable::Since since = {tree.table->moment(), 10};
  SECTION("a declared one") {
    tree.disk.files["in"] = "2";
    CHECK(tree.changed(since, is_strict, {"h"}) == "in");
    CHECK(tree.digest("in") == content_digest("2"));
    CHECK(*tree.table->discovered_part(header) == part);
  }
  SECTION("a discovered one") {
    tree.disk.files["h"] = "2";
    CHECK(tree.changed(since, is_strict) == "");
    CHECK(tree.changed(since, is_strict, {"h"}) == "h");
    CHECK(tree.digest("in") == content_digest("1"));
    CHECK(*tree.table->discovered_part(header) != part);
  }
  SECTION("one that is gone") {
    tree.disk.files.erase("in");
    CHECK(tree.changed(since, is_strict) == "in");
    CHECK_FALSE(tree.table->digest(tree.node("in"), tree.maker("out")));
  }
  SECTION("one that was missing") {
    CHECK(*tree.table->discovered_value(tree.table->discovered_node("late")) == "missing");
    const FileTable::Since later = {tree.table->moment(), 10};
    tree.disk.files["late"] = "1";
    CHECK(tree.changed(later, is_strict, {"late"}) == "late");
    CHECK(*tree.table->discovered_value(tree.node("late")) == content_digest("1").hex());
  }
}

TEST_CASE("a change is seen by each edge that was looked up before it, and by no later one") {
  Tree tree("build a: cat in\nbuild b: cat in\nbuild c: cat in\n", {{"in", "1"}});
  const bool is_strict = GENERATE(false, true);
  tree.digest("in", "a");
  const FileTable::Since before = {tree.table->moment(), 0};
  tree.disk.files["in"] = "2";
  CHECK(tree.changed(before, is_strict, {}, "a") == "in");
  CHECK(tree.changed(before, is_strict, {}, "b") == "in");
  CHECK(tree.changed({tree.table->moment(), 0}, is_strict, {}, "c") == "");
  // The source gets its old content back, which is another change.
  const FileTable::Since between = {tree.table->moment(), 0};
  tree.disk.files["in"] = "1";
  CHECK(tree.changed(between, is_strict, {}, "c") == "in");
}

TEST_CASE("the same bytes written again are a change only where that is strict, by known times") {
  Tree tree("build out: cat in\n", {{"in", "1"}});
  const bool is_dated = GENERATE(true, false);
  if (is_dated) tree.disk.changed["in"] = 5;
  tree.digest("in");
  const FileTable::Since since = {tree.table->moment(), 10};
  tree.disk.changed["in"] = 11;
  CHECK(tree.changed(since, false) == "");
  CHECK(tree.changed(since, true) == (is_dated ? "in" : ""));
  CHECK(tree.digest("in") == content_digest("1"));
}

TEST_CASE("a source first seen after a command was started may have changed since") {
  Tree tree("build out: cat in\n", {{"in", "1"}, {"h", "1"}});
  tree.digest("in");
  const FileTable::Since since = {tree.table->moment(), 10};
  const auto [changed, is_strict, what] = GENERATE(table<int64_t, bool, const char*>({
      {9, true, ""},    // the source last changed before the command was started
      {10, true, "h"},  // it is unknown which content the command has read
      {12, true, "h"},
      {12, false, ""},  // not strict: commands may write their inputs
  }));
  CAPTURE(changed, is_strict);
  tree.disk.changed["h"] = changed;
  CHECK(tree.changed(since, is_strict, {"h"}) == what);
}

TEST_CASE("what edges make, folders and the machine's paths do not change while a command runs") {
  Tree tree("build mid: cat in\nbuild out: cat mid src || in\n", {{"in", "1"}, {"mid", "1"}},
            {{"work", "/home/me"}});
  const bool is_strict = GENERATE(false, true);
  tree.disk.set_folder("src", "a\n");
  tree.digest("in", "mid");
  tree.digest("src");
  tree.table->set_state(tree.node("mid"), {content_digest("1"), {}, 5});
  const FileTable::Since since = {tree.table->moment(), 0};
  tree.disk.files["mid"] = "2";
  tree.disk.files["in"] = "2";  // the edge only waits for this input
  tree.disk.set_folder("src", "a\nb\n");
  CHECK(tree.changed(since, is_strict, {"$work"}) == "");
  CHECK(tree.disk.looks["$work"] + tree.disk.looks["/home/me"] == 0);
}

TEST_CASE("a missing discovered path that becomes a folder counts by the names in it") {
  Tree tree("build out: cat in\n", {{"in", "1"}});
  const NodeId folder = tree.table->discovered_node("d");
  REQUIRE(*tree.table->discovered_value(folder) == "missing");
  const FileTable::Since since{.moment = tree.table->moment()};
  tree.disk.set_folder("d", "x\n");
  const std::vector<std::string> discovered = {"d"};
  CHECK(tree.changed(since, false, discovered) == "d");
  CHECK(tree.table->forget_folders(tree.maker("out"), discovered));
  CHECK(*tree.table->discovered_value(folder) == digest_of("x\n").hex());
}
