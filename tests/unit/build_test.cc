// Tests of the build loop over fakes: which edges run, which are cut off, and which outputs are
// restored.
#include "engine/build/build.h"

#include "engine/build/scan.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;

namespace {

// in ──► mid ──► out      both edges: `cat`
const char* const kChain =
    "rule cat\n  command = cat $out $in\n"
    "build mid: cat in\nbuild out: cat mid\n";

}  // namespace

TEST_CASE("a second build runs nothing") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  auto first = world.build();
  REQUIRE(first);
  CHECK(first->ran == 2);
  CHECK(world.files.files["out"] == "1");
  auto second = world.build();
  REQUIRE(second);
  CHECK(second->ran == 0);
  CHECK(second->cached == 2);
}

TEST_CASE("new bytes in an input run what depends on them") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  REQUIRE(world.build());
  world.files.files["in"] = "2";
  CHECK(world.build()->ran == 2);
  CHECK(world.files.files["out"] == "2");
  world.files.files["in"] = "1";
  CHECK(world.build()->ran == 0);  // this content was built before
  CHECK(world.files.files["out"] == "1");
}

TEST_CASE("an edge that gives the same bytes again cuts off what follows") {
  World world;
  REQUIRE(
      world.load("rule constant\n  command = constant $out $in\n"
                 "rule cat\n  command = cat $out $in\n"
                 "build mid: constant in\nbuild out: cat mid\n"));
  world.runner.programs["constant"] = [](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = "same";
    return 0;
  };
  world.files.files["in"] = "1";
  REQUIRE(world.build());
  world.files.files["in"] = "2";
  auto summary = world.build();
  CHECK(summary->ran == 1);
  CHECK(world.runner.started == std::vector<std::string>{"constant mid in"});
}

TEST_CASE("lost outputs come back from blobs, and a lost blob is made anew") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  REQUIRE(world.build());
  world.files.files.erase("out");
  CHECK(world.build()->ran == 0);
  CHECK(world.files.files["out"] == "1");
  world.files.files.erase("out");
  world.files.files.erase("mid");
  world.blobs.blobs.clear();
  // `out` has the same bytes as `mid`, so storing `mid` restores `out`.
  CHECK(world.build()->ran == 1);
  CHECK(world.files.files["out"] == "1");
}

TEST_CASE("a damaged output is restored") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  REQUIRE(world.build());
  world.files.files["mid"] = "broken";
  CHECK(world.build()->ran == 0);
  CHECK(world.files.files["mid"] == "1");
}

namespace {

// `lib` also makes `lib.h`, which only a dyndep file declares. Either an edge makes the dyndep
// file, or the file exists already.
const char* const kLateOutput =
    "rule cat\n  command = cat $out $in\n"
    "rule lib\n  command = lib $out $in\n  dyndep = lib.dd\n"
    "build main.o: cat lib.h || lib.dd\n"
    "build lib: lib lib.in || lib.dd\n";
const char* const kSaysLateOutput = "ninja_dyndep_version = 1\nbuild lib | lib.h: dyndep\n";

void add_lib(World& world) {
  world.runner.programs["lib"] = [](const auto& words, tests::FakeFiles& files) {
    files.files["lib.h"] = files.files[words[2]];
    files.files[words[1]] = "lib";
    return 0;
  };
  world.files.files["lib.in"] = "new";
  world.files.files["lib.h"] = "old";
}

}  // namespace

TEST_CASE("links come back as links, and their commands run where they lead to something else") {
  World world;
  REQUIRE(world.load("rule link\n  command = link $out\nbuild out kept: link\n"));
  world.runner.programs["link"] = [&](const auto& words, tests::FakeFiles& files) {
    (void)world.links.make(words[1], {"there", false});
    files.files["kept"] = "x";
    return 0;
  };
  world.files.files["there"] = "1";
  REQUIRE(world.build());
  world.links.links.clear();
  world.files.files.erase("out");
  world.files.files.erase("kept");
  CHECK(world.build()->ran == 0);
  CHECK(world.links.links["out"].target == "there");
  CHECK(world.files.files["out"] == "1");
  CHECK(world.files.files["kept"] == "x");
  // The key is the same, but the result is not.
  world.files.files.erase("out");
  world.files.files["there"] = "2";
  CHECK(world.build()->ran == 1);
  CHECK(world.files.files["out"] == "2");
}

TEST_CASE("an edge waits for the maker of its input, even if only a dyndep file names the maker") {
  World world;
  add_lib(world);
  world.options.jobs = GENERATE(1, 4);
  std::string manifest = kLateOutput;
  SECTION("the file is made") {
    manifest += "build lib.dd: cat lib.dd.in\n";
    world.files.files["lib.dd.in"] = kSaysLateOutput;
  }
  SECTION("the file lies there") {
    world.files.files["lib.dd"] = kSaysLateOutput;
  }
  REQUIRE(world.load(manifest));
  REQUIRE(world.build());
  CHECK(world.files.files["main.o"] == "new");
  CHECK(world.build()->ran == 0);
  world.files.files["lib.in"] = "newest";
  REQUIRE(world.build());
  CHECK(world.files.files["main.o"] == "newest");
}

TEST_CASE("a cycle by what a dyndep file says is told") {
  World world;
  add_lib(world);
  world.files.files["lib.dd"] = kSaysLateOutput;
  REQUIRE(
      world.load("rule cat\n  command = cat $out $in\n"
                 "rule lib\n  command = lib $out $in\n  dyndep = lib.dd\n"
                 "build main.o: cat lib.h || lib.dd\n"
                 "build lib: lib lib.in | main.o || lib.dd\n"));
  auto summary = world.build();
  REQUIRE_FALSE(summary);
  CHECK(summary.error().message.starts_with("dependency cycle: "));
}

TEST_CASE("two edges with the same action run it once") {
  World world;
  REQUIRE(
      world.load("rule cat\n  command = cat $out $in\n"
                 "build x/out: cat x/in\n  portable = 1\n"
                 "build y/out: cat y/in\n  portable = 1\n"
                 "build z/out: cat z/in\n  portable = 1\n"
                 "build end: cat y/out\n"));
  for (const char* name : {"x/in", "y/in"}) world.files.files[name] = "same";
  world.files.files["z/in"] = "other";
  SECTION("one after another") {
    world.options.jobs = 1;
  }
  SECTION("at the same time") {
    world.options.jobs = 3;
  }
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->ran == 3);
  CHECK(summary->by_step["cat"].outcomes[Outcome::joined] == 1);
  CHECK(world.files.files["end"] == "same");  // an edge that waits for a joined edge is built, too
  CHECK(world.files.files["y/out"] == "same");
  // The edge that other edges wait for runs first.
  CHECK(world.ledger.last_record("x/out").operator*()->result.paid_by == "y/out");
}

TEST_CASE("a build waits for an action that another process runs, and takes its result") {
  World other;
  REQUIRE(other.load(kChain));
  other.files.files["in"] = "1";
  REQUIRE(other.build());
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  int asked = 0;
  world.claims.is_others = [&](const Digest&) {
    if (++asked < 3) return true;
    // The other process ends while we wait.
    world.memo.results = other.memo.results;
    world.memo.version_now = 1;
    world.blobs.blobs = other.blobs.blobs;
    return false;
  };
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(asked == 3);
  CHECK(summary->ran == 0);
  CHECK(summary->cached == 2);
  CHECK(world.files.files["out"] == "1");
  CHECK(world.claims.held.empty());
}

TEST_CASE("an action that another process did not end runs here") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  int asked = 0;
  world.claims.is_others = [&](const Digest&) { return ++asked < 4; };
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->ran == 2);
  CHECK(world.files.files["out"] == "1");
  CHECK(world.claims.held.empty());
}

TEST_CASE("a build that broke off leaves its actions to others") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  world.runner.interrupt_next = true;
  CHECK(!world.build());
  CHECK(world.claims.held.empty());
}

TEST_CASE("a fault stops the build, is not stored, and is told with the command") {
  World world;
  REQUIRE(
      world.load("rule fail\n  command = fail $out\nrule cat\n  command = cat $out $in\n"
                 "build bad: fail\nbuild out: cat bad\nbuild good: cat in\n"));
  int calls = 0;
  world.runner.programs["fail"] = [&](const auto&, tests::FakeFiles&) {
    return ++calls == 1 ? 3 : 1;
  };
  world.files.files["in"] = "1";
  world.options.keep_going = 0;
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->failed == 1);
  CHECK(summary->skipped == 1);
  CHECK(world.files.files["good"] == "1");
  REQUIRE(world.listener.faults.size() == 1);
  CHECK(world.listener.faults[0].message == "bad: command exited with 3 after 1.0 s");
  CHECK(world.listener.faults[0].detail == "  command: fail bad");
  CHECK(world.listener.faults[0].code == ErrorCode::failed);
  REQUIRE(world.build());
  CHECK(calls == 2);
}

TEST_CASE("after the first fault nothing more is started") {
  World world;
  REQUIRE(world.load(
      "rule fail\n  command = fail $out\nbuild a: fail\nbuild b: fail\nbuild c: fail\n"));
  world.runner.programs["fail"] = [](const auto&, tests::FakeFiles&) { return 1; };
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->failed == 1);
  CHECK(world.runner.started.size() == 1);
}

TEST_CASE("a command that does not write its output is a fault") {
  World world;
  REQUIRE(world.load("rule nothing\n  command = nothing\nbuild out: nothing\n"));
  world.runner.programs["nothing"] = [](const auto&, tests::FakeFiles&) { return 0; };
  REQUIRE(world.build());
  REQUIRE(world.listener.faults.size() == 1);
  CHECK(world.listener.faults[0].message == "out: the command did not write 'out'");
}

TEST_CASE("a missing source is bad input that names who needs it") {
  World world;
  REQUIRE(world.load(kChain));
  auto summary = world.build();
  REQUIRE(!summary);
  CHECK(summary.error().code == ErrorCode::bad_input);
  CHECK(summary.error().message == "'in', needed by 'mid', missing and no known rule to make it");
}

TEST_CASE("discovered inputs are part of the key on the second look") {
  World world;
  REQUIRE(
      world.load("rule inc\n  command = inc $out $in\n  depfile = $out.d\nbuild out: inc in\n"));
  world.runner.programs["inc"] = [](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = files.files[words[2]] + files.files["header"];
    files.files[words[1] + ".d"] = words[1] + ": " + words[2] + " header\n";
    return 0;
  };
  world.files.files["in"] = "1";
  world.files.files["header"] = "h";
  CHECK(world.build()->ran == 1);
  CHECK(world.build()->ran == 0);
  world.files.files["header"] = "H";
  CHECK(world.build()->ran == 1);
  CHECK(world.files.files["out"] == "1H");
  CHECK(world.ledger.records.back().reason ==
        "discovered 'header': " + content_digest("h").brief() + " -> " +
            content_digest("H").brief());
}

TEST_CASE(
    "a command whose input changed meanwhile runs again, and its first result is not stored") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "A";
  auto edit_once = [&, is_edited = false](const auto&) mutable {
    if (!is_edited) world.files.files["in"] = "B";
    is_edited = true;
  };
  world.runner.at_start = edit_once;
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->retried == 1);
  CHECK(world.files.files["out"] == "B");
  CHECK(world.listener.ended.front().output ==
        "evolve: warning: 'in' changed while the command read it: running the command again\n");
  CHECK(world.build()->ran == 0);
  world.files.files["in"] = "A";
  CHECK(world.build()->ran == 2);
  CHECK(world.files.files["out"] == "A");
}

TEST_CASE("an edit that was put back while a command ran is seen by the file's times") {
  World world;
  REQUIRE(
      world.load("rule inc\n  command = inc $out $in\n  depfile = $out.d\nbuild out: inc in\n"));
  bool is_edited = false;
  world.runner.programs["inc"] = [&](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = files.files[words[2]] + (is_edited ? files.files["header"] : "edit");
    files.files[words[1] + ".d"] = words[1] + ": " + words[2] + " header\n";
    is_edited = true;
    return 0;
  };
  world.files.files["in"] = "1";
  world.files.files["header"] = "h";
  world.clock.file_time_now = 10;
  world.files.changed["in"] = 5;
  SECTION("of an input that was known before") {
    world.runner.at_start = [&](const auto&) {
      if (!is_edited) world.files.changed["in"] = 11;
    };
  }
  SECTION("of one that the run discovered") {
    world.runner.at_start = [&](const auto&) {
      if (!is_edited) world.files.changed["header"] = 11;
      if (is_edited) world.clock.file_time_now = 12;
    };
  }
  world.runner.at_start = [&, before = world.runner.at_start](const auto& running) {
    before(running);
    world.clock.file_time_now += 2;
  };
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->retried == 1);
  CHECK(world.files.files["out"] == "1h");
}

TEST_CASE("a command whose input is changed each time fails, and nothing is stored") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "0";
  world.runner.at_start = [&](const auto&) { world.files.files["in"] += "+"; };
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->failed == 1);
  CHECK(world.memo.results.empty());
  REQUIRE(world.listener.faults.size() == 1);
  CHECK(world.listener.faults[0].message == "mid: 'in' changed while the command read it, 4 times");
}

TEST_CASE("a command of somebody else's manifest may write what it reads") {
  World world;
  REQUIRE(world.load("rule more\n  command = more $out $in\nbuild out: more in\n"));
  world.options.rules.are_strict = false;
  world.runner.programs["more"] = [](const auto& words, tests::FakeFiles& files) {
    files.files[words[2]] += "+";
    files.files[words[1]] = files.files[words[2]];
    return 0;
  };
  world.files.files["in"] = "1";
  auto summary = world.build();
  REQUIRE(summary);
  CHECK(summary->failed == 0);
  CHECK(world.files.files["out"] == "1++");
  CHECK(world.build()->ran == 0);
}

TEST_CASE("edges that joined one whose input was changed run again with it") {
  World world;
  REQUIRE(world.load("rule cat\n  command = cat $out $in\nbuild a: cat in\nbuild b: cat in\n"));
  world.options.jobs = 2;
  world.files.files["in"] = "A";
  world.runner.at_start = [&, is_edited = false](const auto&) mutable {
    if (!is_edited) world.files.files["in"] = "B";
    is_edited = true;
  };
  REQUIRE(world.build());
  CHECK(world.files.files["a"] == "B");
  CHECK(world.files.files["b"] == "B");
}

TEST_CASE("the declared environment is part of the key, the rest is not") {
  World world;
  REQUIRE(
      world.load("rule cat\n  command = cat $out $in\nbuild out: cat in\n  environment = MODE\n"));
  world.files.files["in"] = "1";
  world.environment = {{"MODE", "a"}, {"USER", "me"}};
  CHECK(world.build()->ran == 1);
  world.environment["USER"] = "you";
  CHECK(world.build()->ran == 0);
  world.environment["MODE"] = "b";
  CHECK(world.build()->ran == 1);
  CHECK(world.ledger.records.back().reason == "environment 'MODE': a -> b");
}

TEST_CASE("a secret is seen by its command alone, and is in no key and no record") {
  World world;
  REQUIRE(world.load(
      "rule cat\n  command = cat $out $in\nbuild out: cat in\n  secrets = TOKEN OTHER\n"));
  world.files.files["in"] = "1";
  world.environment = {{"TOKEN", "sk-planted"}, {"USER", "me"}};
  std::vector<std::map<std::string, std::string>> seen;
  world.runner.at_start = [&](const std::vector<Command>& running) {
    seen.push_back(running.back().environment);
  };
  CHECK(world.build()->ran == 1);
  REQUIRE(seen.size() == 1);
  // A variable that is not set is missing, not empty.
  CHECK(seen[0] == std::map<std::string, std::string>{{"TOKEN", "sk-planted"}});
  for (const auto& part : world.ledger.records.back().result.parts)
    CHECK(part.value.find("sk-planted") == std::string::npos);
  world.environment["TOKEN"] = "another";
  CHECK(world.build()->ran == 0);
}

TEST_CASE("a tentative edge runs until it is confirmed, and keeps its result from then on") {
  World world;
  REQUIRE(
      world.load("rule copy\n  command = copy $out said\n"
                 "build kept: copy | question || said\n  class = recorded\n  tentative = 1\n"));
  world.runner.programs["copy"] = [](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = files.files[words[2]];
    return 0;
  };
  const NodeId kept = *world.graph->find_node("kept");
  std::vector<Digest> confirmed;
  // Returns how often the command ran, and the content of its output.
  auto built = [&](const std::string& said) {
    world.files.files["said"] = said;
    Lookup lookup = world.lookup();
    lookup.results().confirm(confirmed);
    auto summary = world.build({kept}, lookup);
    REQUIRE(summary);
    return std::pair(summary->ran, world.files.files["kept"]);
  };
  auto confirm = [&] {
    const ActionResult result = (*world.ledger.last_record("kept"))->result;
    confirmed.push_back(result.key);
    world.ledger.results[result.key] = result;
  };
  world.files.files["question"] = "1";
  CHECK(built("wrong") == std::pair(1, std::string("wrong")));
  CHECK(built("right") == std::pair(1, std::string("right")));
  confirm();
  CHECK(built("later") == std::pair(0, std::string("right")));
  // A new question gets the present answer until an answer is confirmed. The first question keeps
  // its confirmed answer, even if the memo has another answer.
  world.files.files["question"] = "2";
  CHECK(built("later") == std::pair(1, std::string("later")));
  ActionResult theirs = world.ledger.results.begin()->second;
  theirs.outputs = {content_digest("theirs")};
  REQUIRE(world.memo.put(theirs));
  world.files.files["question"] = "1";
  CHECK(built("latest") == std::pair(0, std::string("right")));
}

TEST_CASE("the verdict of a report is a result, not a fault") {
  World world;
  REQUIRE(
      world.load("rule judge\n  command = judge $out\nbuild r.json: judge\n  report = r.json\n"));
  std::string text = R"({"verdict": "rejected", "kind": "out-of-memory"})";
  world.runner.programs["judge"] = [&](const auto& words, tests::FakeFiles& files) {
    files.files[words[1]] = text;
    return 0;
  };
  SECTION("a verdict is told of, and stored") {
    CHECK(world.build()->ran == 1);
    CHECK(world.listener.ended.back().verdict == "rejected");
    world.listener.ended.clear();
    CHECK(world.build()->ran == 0);
    REQUIRE(world.listener.ended.size() == 1);
    CHECK(world.listener.ended.back().verdict == "rejected");
  }
  SECTION("a report without one is a fault") {
    text = "{}";
    CHECK(world.build()->failed == 1);
    CHECK(world.listener.faults[0].message == "r.json: the report has no verdict");
  }
}

TEST_CASE("no more edges run at once than jobs and pools allow") {
  World world;
  REQUIRE(
      world.load("pool two\n  depth = 2\nrule cat\n  command = cat $out $in\n  pool = two\n"
                 "build a: cat in\nbuild b: cat in\nbuild c: cat in\nbuild d: cat in\n"));
  world.files.files["in"] = "1";
  SECTION("the pool is smaller") {
    world.options.jobs = 4;
  }
  SECTION("the jobs are fewer") {
    world.options.jobs = 2;
  }
  CHECK(world.build()->ran == 4);
  CHECK(world.runner.most_at_once == 2);
}

TEST_CASE("an interruption stops the runner and is an error of its own kind") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  world.runner.interrupt_next = true;
  auto summary = world.build();
  REQUIRE(!summary);
  CHECK(summary.error().code == ErrorCode::interrupted);
  CHECK(world.runner.stopped);
}

TEST_CASE("a scan says what would run, and what might") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  auto pending = [&] {
    Lookup lookup(*world.graph, world.files, world.memo, world.ledger, world.snapshot, {});
    return *scan(*world.graph, *world.graph->default_targets(), lookup, world.files, world.blobs);
  };
  auto before = pending();
  REQUIRE(before.size() == 2);
  CHECK(before[0].reasons == std::vector<Reason>{{.kind = Reason::Kind::never_built}});
  CHECK(before[1].need == Pending::Need::maybe);
  CHECK(before[1].dirty_inputs == std::vector{*world.graph->find_node("mid")});
  REQUIRE(world.build());
  CHECK(pending().empty());
  world.files.files["in"] = "2";
  auto after = pending();
  REQUIRE(after.size() == 2);
  CHECK(after[0].reasons ==
        std::vector<Reason>{{.kind = Reason::Kind::changed,
                             .part = "input",
                             .words = "input 'in': " + content_digest("1").brief() + " -> " +
                                      content_digest("2").brief()}});
}

TEST_CASE("a build takes over what a scan of the same targets found") {
  World world;
  REQUIRE(world.load(kChain));
  world.files.files["in"] = "1";
  REQUIRE(world.build());
  for (const char* path : {"mid", "out"}) world.files.files.erase(path);
  Lookup lookup = world.lookup();
  const std::vector<NodeId> targets = *world.graph->default_targets();
  auto pending = *scan(*world.graph, targets, lookup, world.files, world.blobs);
  REQUIRE(pending.size() == 2);
  CHECK(pending[0].need == Pending::Need::restore);
  // The results are not looked up again.
  world.memo.results.clear();
  world.ledger.records.clear();
  world.runner.started.clear();
  auto summary = world.build(targets, lookup, take_hits(pending));
  REQUIRE(summary);
  CHECK(summary->cached == 2);
  CHECK(world.runner.started.empty());
  CHECK(world.files.files["out"] == "1");
}
