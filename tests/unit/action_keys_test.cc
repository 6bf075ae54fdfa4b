// Tests of the keys of edges: which values are parts of a key, and that a key is the same on each
// machine.
#include "engine/build/action_keys.h"

#include <algorithm>

#include "engine/build/lookup.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;

namespace {

using Paths = std::vector<std::string>;
using Contents = std::map<std::string, std::string>;

// A disk with folders.
class Disk : public tests::FakeFiles {
 public:
  Result<std::optional<FileState>> look(const std::string& path, const FileState* before) override {
    if (folders.contains(path)) return std::optional(FileState{folder_digest(), {}, 0});
    return FakeFiles::look(path, before);
  }
};

// A machine with some files and a manifest whose rule is `cat`.
struct Machine {
  Disk disk;
  tests::World world;
  std::optional<Lookup> lookup;

  Machine(const std::string& manifest, const Contents& files, BuildContext context = {}) {
    REQUIRE(world.load("rule cat\n  command = cat $out $in\n" + manifest));
    disk.files = files;
    lookup.emplace(*world.graph, disk, world.memo, world.ledger, world.snapshot,
                   std::move(context));
  }

  ActionKeys& keys() { return lookup->keys(); }
  EdgeId maker(const std::string& out) {
    return *world.graph->node(*world.graph->find_node(out)).made_by;
  }
  KeyWriter declared(const std::string& out = "out") {
    auto key = keys().declared(maker(out));
    REQUIRE(key);
    return *key;
  }
  KeyWriter full(const Paths& discovered, const std::string& out = "out") {
    auto key = keys().full(maker(out), declared(out), discovered);
    REQUIRE(key);
    return *key;
  }
  Digest quick(const Paths& discovered, const std::string& out = "out") {
    std::vector<NodeId> nodes;
    for (const std::string& path : discovered)
      nodes.push_back(lookup->files().discovered_node(path));
    auto key = keys().quick(maker(out), nodes);
    REQUIRE(key);
    return *key;
  }
};

// Returns whether any part of a key contains a text.
bool has_text(const KeyWriter& key, const std::string& text) {
  return std::any_of(key.parts().begin(), key.parts().end(), [&](const KeyPart& part) {
    return part.name.find(text) != std::string::npos || part.value.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a key follows the bytes of the inputs, but not of those that are only waited for") {
  auto key = [](const Contents& files) {
    return Machine("build out: cat in | tool || later\n", files).declared().key();
  };
  const Digest plain = key({{"in", "1"}, {"tool", "1"}});
  CHECK(key({{"in", "1"}, {"tool", "1"}, {"later", "1"}}) == plain);
  CHECK(key({{"in", "2"}, {"tool", "1"}}) != plain);
  CHECK(key({{"in", "1"}, {"tool", "2"}}) != plain);
}

TEST_CASE("there is no key without a source, declared or quick") {
  Machine machine("build out: cat in\n", {});
  auto declared = machine.keys().declared(machine.maker("out"));
  REQUIRE_FALSE(declared);
  CHECK(declared.error().message == "'in', needed by 'out', missing and no known rule to make it");
  CHECK_FALSE(machine.keys().quick(machine.maker("out"), {}));
}

TEST_CASE("an edge's key follows the builds of its inputs, not the files on the disk") {
  auto key = [](const std::string& made, const std::string& there) {
    Machine machine("build mid: cat in\nbuild out: cat mid\n", {{"mid", there}});
    machine.lookup->files().set_digest(*machine.world.graph->find_node("mid"),
                                       content_digest(made));
    return machine.declared().key();
  };
  CHECK(key("1", "1") == key("1", "2"));
  CHECK(key("1", "1") != key("2", "1"));
}

TEST_CASE("rule, outputs and sandbox are parts of a key, a generator's command is not") {
  auto key = [](const std::string& command, const std::string& edge) {
    return Machine("rule r\n  command = " + command + "\nrule s\n  command = c\n" + edge,
                   {{"in", "1"}})
        .declared()
        .key();
  };
  const Digest plain = key("c", "build out: r in\n");
  CHECK(key("c", "build out: s in\n") != plain);
  CHECK(key("c", "build out: r in\n  sandbox = 1\n") != plain);
  CHECK(key("c", "build out more: r in\n") != plain);
  CHECK(key("c", "build out | more: r in\n") == key("c", "build out more: r in\n"));
  CHECK(key("d", "build out: r in\n") != plain);
  const std::string generator = "build out: r in\n  generator = 1\n";
  CHECK(key("c", generator) == key("d", generator));
}

TEST_CASE("a discovered input is part of only the full key, whether it exists or not") {
  auto at = [](const Contents& headers) {
    Contents files = headers;
    files["in"] = "1";
    Machine machine("build out: cat in\n", files);
    return std::pair(machine.declared().key(), machine.full({"h"}).key());
  };
  const auto [declared, full] = at({{"h", "1"}});
  CHECK(full != declared);
  CHECK(at({{"h", "2"}}).first == declared);
  CHECK(at({{"h", "2"}}).second != full);
  CHECK(at({}).first == declared);
  CHECK(at({}).second != full);
  CHECK(at({}).second != at({{"h", ""}}).second);
}

TEST_CASE("a run that discovered nothing has the declared key") {
  Machine machine("build out: cat in\n", {{"in", "1"}});
  CHECK(machine.full({}).key() == machine.declared().key());
  CHECK(machine.quick({}) == machine.declared().key());
}

TEST_CASE("a key is the same whether its parts are kept or not, one edge after another") {
  Machine machine(
      "build out: cat in\n  environment = MODE\n"
      "build w/other: cat w/in\n  portable = 1\n  toolchain = w/python jax-1\n",
      {{"in", "1"}, {"w/in", "1"}, {"h", "1"}, {"w/h", "2"}},
      {{{"work", "w"}}, {{"MODE", "fast"}}});
  const Paths discovered = {"h", "$work/h", "gone", "$work"};
  for (int i = 0; i < 2; ++i) {
    CHECK(machine.quick(discovered) == machine.full(discovered).key());
    CHECK(machine.quick({"h"}, "w/other") == machine.full({"h"}, "w/other").key());
  }
}

TEST_CASE("a header that was changed while a command ran is another key from then on") {
  Machine machine("build out: cat in\n", {{"in", "1"}, {"h", "1"}});
  const Paths discovered = {"h"};
  const Digest before = machine.quick(discovered);
  const FileTable::Since since = {machine.lookup->files().moment(), 0};
  machine.disk.files["h"] = "2";
  CHECK(machine.quick(discovered) == before);
  auto& files = machine.lookup->files();
  REQUIRE(*files.changed_since(machine.maker("out"), discovered, since, false));
  CHECK(machine.quick(discovered) != before);
  CHECK(machine.quick(discovered) == machine.full(discovered).key());
}

TEST_CASE("portable edges with the same bytes share a key, wherever all their files lie") {
  auto key = [](const std::string& folder, const std::string& content) {
    const std::string manifest =
        "f = " + folder +
        "\nrule run\n  command = run --in $in --out=$out --list $rspfile\n"
        "  depfile = $f/d\n  rspfile = $f/list\n  rspfile_content = $in $f/d\n"
        "build $f/out: run $f/in\n  portable = 1\n";
    return Machine(manifest, {{folder + "/in", content}}).declared(folder + "/out");
  };
  CHECK(key("v1", "1").key() == key("v2/deep", "1").key());
  CHECK(key("v1", "1").key() != key("v2/deep", "2").key());
  CHECK_FALSE(has_text(key("v1", "1"), "v1"));
}

TEST_CASE("portable edges that discovered different files have different keys") {
  Machine machine("build a/out: cat a/in\n  portable = 1\nbuild b/out: cat b/in\n  portable = 1\n",
                  {{"a/in", "1"}, {"b/in", "1"}, {"a/h", "1"}, {"b/h", "1"}});
  CHECK(machine.full({"a/h"}, "a/out").key() == machine.full({"a/h"}, "b/out").key());
  CHECK(machine.full({"a/h"}, "a/out").key() != machine.full({"b/h"}, "b/out").key());
}

TEST_CASE("a text about a portable edge gets its paths back") {
  Machine machine("build w/out: cat w/a b c d e f g h i j k\n  portable = 1\n", {},
                  {{{"work", "w"}}, {}});
  auto text = [&](const std::string& roles) {
    return machine.keys().with_paths(machine.maker("w/out"), roles);
  };
  CHECK(text("input '{in1}': {in10}, {in1}") == "input 'b': k, b");
  CHECK(text("{in0} {out0}") == "$work/a $work/out");
  CHECK(text("{in99} {out1} {depfile}") == "{in99} {out1} {depfile}");
}

TEST_CASE("where this machine keeps things is in no key, and in no name of a record") {
  auto at = [](const std::string& work, const std::string& python) {
    const std::string manifest = "w = " + work + "\npy = " + python +
                                 "\nrule run\n  command = $py -I$w/lib $in > $out\n"
                                 "build $w/out: run $w/in $py\n  toolchain = $py 3.11\n";
    return Machine(manifest, {{work + "/in", "1"}, {python, "python"}, {work + "/h", "2"}},
                   {{{"work", work}, {"python", python}}, {}})
        .full({"$work/h"}, work + "/out");
  };
  const KeyWriter key = at("/home/me/w", "/usr/bin/python3");
  CHECK(key.key() == at("/srv/w", "/opt/python").key());
  CHECK_FALSE(has_text(key, "/home"));
  Machine machine("build /home/me/w/out: cat in\n", {}, {{{"work", "/home/me/w"}}, {}});
  CHECK(machine.keys().record_name(machine.maker("/home/me/w/out")) == "$work/out");
}

TEST_CASE("a run that depended on a path of its machine has no key on another machine") {
  auto at = [](const std::string& work) {
    return Machine("build out: cat in\n", {{"in", "1"}}, {{{"work", work}}, {}});
  };
  CHECK(at("/home/me").full({}).key() == at("/srv").full({}).key());
  CHECK(at("/home/me").full({"$work"}).key() == at("/home/me").full({"$work"}).key());
  CHECK(at("/home/me").full({"$work"}).key() != at("/srv").full({"$work"}).key());
}

TEST_CASE("the variables that an edge declares are in its key, with \"\" for those not set") {
  auto at = [](const std::map<std::string, std::string>& environment) {
    return Machine("build out: cat in\n  environment = MODE  LEVEL\nbuild other: cat in\n",
                   {{"in", "1"}}, {{}, environment});
  };
  Machine machine = at({{"LEVEL", "2"}, {"USER", "me"}});
  CHECK(machine.keys().environment(machine.maker("out")) ==
        ActionKeys::Variables{{"MODE", ""}, {"LEVEL", "2"}});
  CHECK(machine.keys().environment(machine.maker("other")).empty());
  const Digest key = machine.declared().key();
  CHECK(at({{"LEVEL", "2"}, {"MODE", ""}}).declared().key() == key);
  CHECK(at({{"LEVEL", "3"}}).declared().key() != key);
  CHECK(at({{"MODE", "2"}}).declared().key() != key);
  CHECK(at({{"LEVEL", "3"}}).declared("other").key() == machine.declared("other").key());
}

TEST_CASE("a secret is given to the edges that declare it, if it is set, and is in no key") {
  const std::map<std::string, std::string> environment = {
      {"TOKEN", "sk-planted"}, {"MODE", "a"}, {"USER", "me"}};
  const std::string manifest =
      "build out: cat in\n  secrets = TOKEN OTHER\n  environment = MODE\nbuild open: cat in\n";
  Machine machine(manifest, {{"in", "1"}, {"h", "1"}}, {{}, environment});
  CHECK(machine.keys().secrets(machine.maker("out")) ==
        ActionKeys::Variables{{"TOKEN", "sk-planted"}});
  CHECK(machine.keys().secrets(machine.maker("open")).empty());
  const KeyWriter key = machine.full({"h"});
  CHECK_FALSE(has_text(key, "sk-planted"));
  CHECK_FALSE(has_text(key, "TOKEN"));
  for (const char* value : {"another", ""}) {
    Machine other(manifest, {{"in", "1"}, {"h", "1"}}, {{}, {{"TOKEN", value}, {"MODE", "a"}}});
    CHECK(other.full({"h"}).key() == key.key());
    CHECK(other.quick({"h"}) == key.key());
  }
}

TEST_CASE("a result gets the keys of its inputs as they are now") {
  Machine machine("build out: cat in\n", {{"in", "1"}, {"h", "1"}});
  const EdgeId edge = machine.maker("out");
  ActionResult result;
  result.discovered = {"h"};
  result.outputs = {content_digest("made")};
  REQUIRE(machine.keys().rekey(edge, result));
  const ActionResult before = result;
  CHECK(before.key == machine.quick({"h"}));
  CHECK(before.declared_key == machine.quick({}));
  CHECK(before.parts == machine.full({"h"}).parts());

  const FileTable::Since since = {machine.lookup->files().moment(), 0};
  machine.disk.files["h"] = "2";
  REQUIRE(*machine.lookup->files().changed_since(edge, before.discovered, since, false));
  REQUIRE(machine.keys().rekey(edge, result));
  CHECK(result.declared_key == before.declared_key);
  CHECK(result.key != before.key);
  CHECK(result.parts.back().value == content_digest("2").hex());
  CHECK(result.outputs == before.outputs);
}

TEST_CASE("a result whose input is gone gets no key") {
  Machine machine("build out: cat in\n", {});
  ActionResult result;
  CHECK_FALSE(machine.keys().rekey(machine.maker("out"), result));
}

TEST_CASE("folders are in a key as the command left them, files as it found them") {
  Machine machine("build out: cat in src\nbuild other: cat in\n", {{"in", "1"}, {"src", "a\n"}});
  machine.disk.folders = {"src"};
  auto after = [&](const std::string& out, const KeyWriter& before, const Paths& discovered) {
    auto key = machine.keys().declared_after(machine.maker(out), before, discovered);
    REQUIRE(key);
    return key->key();
  };
  const KeyWriter with_folder = machine.declared(), without = machine.declared("other");
  CHECK(after("out", with_folder, {}) == with_folder.key());
  machine.disk.files["src"] = "a\nb\n";
  machine.disk.files["in"] = "2";
  CHECK(after("other", without, {}) == without.key());
  const Digest left = after("out", with_folder, {});
  CHECK(left != with_folder.key());
  Machine next("build out: cat in src\n", {{"in", "1"}, {"src", "a\nb\n"}});
  next.disk.folders = {"src"};
  CHECK(left == next.declared().key());
}
