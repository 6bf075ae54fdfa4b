// Tests of the look-up over fakes: whether an edge is up to date, which stored result the edge
// gets, and why the edge has to run.
#include "engine/build/lookup.h"

#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using tests::World;
using Kind = Reason::Kind;

namespace {

const char* const kCat = "rule cat\n  command = cat $out $in\n";
// `inc IN` also reads `header`, which its depfile names.
const char* const kInc = "rule inc\n  command = inc $out $in\n  depfile = $out.d\n";

// Gives a world a manifest and its files.
void fill(World& world, const std::string& manifest,
          const std::map<std::string, std::string>& files) {
  REQUIRE(world.load(kCat + std::string(kInc) + manifest));
  world.files.files = files;
  world.runner.programs["inc"] = [](const auto& words, tests::FakeFiles& disk) {
    disk.files[words[1]] = disk.files[words[2]] + disk.files["header"];
    disk.files[words[1] + ".d"] = words[1] + ": " + words[2] + " header\n";
    return 0;
  };
  world.runner.programs["fail"] = [](const auto&, tests::FakeFiles&) { return 1; };
}

EdgeId maker_of(const World& world, const std::string& path) {
  return *world.graph->node(*world.graph->find_node(path)).made_by;
}

LookedUpEdge found(Lookup& lookup, EdgeId edge) {
  auto finding = lookup.find(edge);
  REQUIRE(finding);
  return *std::move(finding);
}

bool is_settled(Lookup& lookup, EdgeId edge) {
  auto settled = lookup.is_settled(edge);
  REQUIRE(settled);
  return *settled;
}

// Returns why the edge of `path` has to run, for a process that begins now. REQUIRES: all inputs of
// the edge are sources.
std::vector<Reason> reasons_of(World& world, const std::string& path = "out") {
  Lookup lookup = world.lookup();
  const EdgeId edge = maker_of(world, path);
  const LookedUpEdge finding = found(lookup, edge);
  CHECK_FALSE(finding.result);
  auto reasons = lookup.reasons(edge, finding);
  REQUIRE(reasons);
  return *reasons;
}

// Returns a text such as "input 'in': 6b86b273ff34 -> d4735e3a265e".
std::string change(const std::string& of, const std::string& before, const std::string& after) {
  return of + ": " + content_digest(before).brief() + " -> " + content_digest(after).brief();
}

// A rule that returns the judgement of the test, and records its calls.
class FixedRule : public UpToDateRule {
 public:
  Judgement judgement;
  std::vector<bool> unchanged;
  std::vector<std::pair<EdgeId, Digest>> runs;

  Result<Judgement> judge(EdgeId, bool is_unchanged) override {
    unchanged.push_back(is_unchanged);
    return judgement;
  }
  Status ran(EdgeId edge, const ActionResult& result) override {
    runs.emplace_back(edge, result.key);
    return {};
  }
};

}  // namespace

TEST_CASE("each kind of reason has its words") {
  CHECK(text_of({.kind = Kind::never_built}) == "never built");
  CHECK(text_of({.kind = Kind::failed_last}) == "failed last time");
  CHECK(text_of({.kind = Kind::always_new, .words = "x"}) == "x is always new");
  CHECK(text_of({.kind = Kind::result_gone}) == "its stored result is gone");
  CHECK(text_of({.kind = Kind::changed, .part = "input", .words = "input 'x': a -> b"}) ==
        "input 'x': a -> b");
  CHECK(text_of({.kind = Kind::other, .words = "older than 'x'"}) == "older than 'x'");
}

TEST_CASE("an edge of which there is no record was never built") {
  World world;
  fill(world, "build out: cat in\n", {{"in", "1"}, {"out", "1"}});
  CHECK(reasons_of(world) == std::vector<Reason>{{.kind = Kind::never_built}});
}

TEST_CASE("an edge that failed last time has no other reason, whatever has changed since") {
  World world;
  fill(world, "rule fail\n  command = fail\nbuild out: fail in\n", {{"in", "1"}});
  REQUIRE(world.build());
  world.files.files["in"] = "2";
  CHECK(reasons_of(world) == std::vector<Reason>{{.kind = Kind::failed_last}});
}

TEST_CASE("a changed command is a reason that says what became of it") {
  World world;
  fill(world, "build out: cat in\n", {{"in", "1"}});
  REQUIRE(world.build());
  REQUIRE(world.load("rule cat\n  command = cat $out $in --fast\nbuild out: cat in\n"));
  CHECK(reasons_of(world) == std::vector<Reason>{{.kind = Kind::changed,
                                                  .part = "command",
                                                  .words = "command: cat out in -> "
                                                           "cat out in --fast"}});
}

TEST_CASE("each input that changed, came or went is a reason of its own") {
  World world;
  fill(world, "build out: cat in | was\n", {{"in", "1"}, {"was", "1"}, {"new", "1"}});
  REQUIRE(world.build());
  REQUIRE(world.load(kCat + std::string("build out: cat in | new\n")));
  world.files.files["in"] = "2";
  CHECK(reasons_of(world) ==
        std::vector<Reason>{
            {.kind = Kind::changed, .part = "input", .words = change("input 'in'", "1", "2")},
            {.kind = Kind::changed, .part = "input", .words = "input 'new' is new"},
            {.kind = Kind::changed, .part = "input", .words = "input 'was' is gone"}});
}

TEST_CASE("the reasons of a portable edge name its files, though its key does not") {
  World world;
  fill(world, "build w/out: cat w/in\n  portable = 1\n", {{"w/in", "1"}});
  REQUIRE(world.build());
  world.files.files["w/in"] = "2";
  const auto reasons = reasons_of(world, "w/out");
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].words == change("input 'w/in'", "1", "2"));
}

TEST_CASE("a discovered input that changed is a reason, a missing one too") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  world.files.files["header"] = "H";
  CHECK(reasons_of(world) ==
        std::vector<Reason>{{.kind = Kind::changed,
                             .part = "discovered",
                             .words = change("discovered 'header'", "h", "H")}});
  world.files.files.erase("header");
  const auto reasons = reasons_of(world);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].words == "discovered 'header': " + content_digest("h").brief() + " -> missing");
}

TEST_CASE("where a declared input changed, what will be discovered does not count as gone") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  world.files.files["in"] = "2";
  CHECK(reasons_of(world) ==
        std::vector<Reason>{
            {.kind = Kind::changed, .part = "input", .words = change("input 'in'", "1", "2")}});
}

TEST_CASE("an edge whose inputs are as they were, and whose result is lost, says so") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  world.memo.results.clear();
  CHECK(reasons_of(world) == std::vector<Reason>{{.kind = Kind::result_gone}});
  world.memo.discoveries.clear();
  CHECK(reasons_of(world) == std::vector<Reason>{{.kind = Kind::result_gone}});
}

TEST_CASE("an edge with an input that is always new runs, though it has a stored result") {
  World world;
  fill(world, "build always: phony\nbuild out: cat in | always\n", {{"in", "1"}});
  REQUIRE(world.build());
  const EdgeId out = maker_of(world, "out");
  Lookup lookup = world.lookup();
  REQUIRE(lookup.files().settle_phony(maker_of(world, "always")));
  const LookedUpEdge finding = found(lookup, out);
  REQUIRE(world.memo.results.contains(finding.declared.key()));
  CHECK(finding.dirty == std::vector{*world.graph->find_node("always")});
  CHECK_FALSE(finding.result);
  CHECK_FALSE(is_settled(lookup, out));
  CHECK(*lookup.reasons(out, finding) ==
        std::vector<Reason>{{.kind = Kind::always_new, .words = "always"}});
}

TEST_CASE("a stored result is found with the parts of its key, discovered ones last") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  Lookup lookup = world.lookup();
  const LookedUpEdge finding = found(lookup, maker_of(world, "out"));
  REQUIRE(finding.result);
  CHECK(finding.result->outputs == std::vector{content_digest("1h")});
  CHECK(finding.result->key == finding.full->key());
  CHECK(finding.result->declared_key == finding.declared.key());
  CHECK(finding.result->parts == world.ledger.records.back().result.parts);
  CHECK(finding.result->parts.back().name == "header");
}

TEST_CASE("a discovered input that an edge has yet to make is waited for") {
  World world;
  fill(world, "build header: cat header.in\nbuild out: inc in || header\n",
       {{"in", "1"}, {"header.in", "h"}});
  REQUIRE(world.build());
  const EdgeId header = maker_of(world, "header"), out = maker_of(world, "out");
  Lookup lookup = world.lookup();
  LookedUpEdge finding = found(lookup, out);
  CHECK(finding.unmade == std::vector{*world.graph->find_node("header")});
  CHECK_FALSE(finding.full);
  CHECK_FALSE(finding.result);
  CHECK_FALSE(is_settled(lookup, out));
  SECTION("it is as it was") {
    REQUIRE(is_settled(lookup, header));
    CHECK(is_settled(lookup, out));
    finding = found(lookup, out);
    CHECK(finding.unmade.empty());
    CHECK(finding.result);
  }
  SECTION("it has become something else") {
    lookup.files().set_digest(*world.graph->find_node("header"), content_digest("H"));
    CHECK_FALSE(is_settled(lookup, out));
    finding = found(lookup, out);
    CHECK(finding.full);
    CHECK_FALSE(finding.result);
  }
}

TEST_CASE("an edge is up to date as long as its inputs and outputs are what they were") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  // The result that is stored for the edge does not matter.
  world.memo.results.clear();
  const EdgeId out = maker_of(world, "out");
  {
    Lookup lookup = world.lookup();
    CHECK(is_settled(lookup, out));
    CHECK(lookup.files().known_digest(*world.graph->find_node("out")) == content_digest("1h"));
  }
  SECTION("an input is something else") {
    world.files.files["in"] = "2";
  }
  SECTION("a discovered input is something else") {
    world.files.files["header"] = "H";
  }
  SECTION("the output is something else") {
    world.files.files["out"] = "edited";
  }
  SECTION("the output is gone") {
    world.files.files.erase("out");
  }
  SECTION("nothing is known of it") {
    world.snapshot = {};
  }
  Lookup lookup = world.lookup();
  CHECK_FALSE(is_settled(lookup, out));
  CHECK_FALSE(lookup.files().knows(*world.graph->find_node("out")));
}

TEST_CASE("what the last run of an edge discovered is known, the machine's paths left out") {
  World world;
  fill(world, "build out: inc in\nbuild plain: cat in\n", {{"in", "1"}, {"header", "h"}});
  const EdgeId out = maker_of(world, "out");
  Lookup lookup(*world.graph, world.files, world.memo, world.ledger, world.snapshot,
                {{{"work", "/home/me"}}, {}});
  CHECK_FALSE(lookup.discovered(out));
  ActionResult result;
  result.key = digest_of("key");
  result.discovered = {"header", "$work", "$work/h"};
  REQUIRE(lookup.settle(out, result));
  CHECK(lookup.discovered(out) ==
        std::vector{*world.graph->find_node("header"), *world.graph->find_node("/home/me/h")});
  REQUIRE(lookup.settle(maker_of(world, "plain"), {}));
  CHECK(lookup.discovered(maker_of(world, "plain")) == std::vector<NodeId>{});
}

TEST_CASE("a result is in the memo, or else in the ledger") {
  World world;
  fill(world, "build out: cat in\n", {});
  Results results(*world.graph, world.memo, world.ledger);
  const EdgeId out = maker_of(world, "out");
  const Digest key = digest_of("key");
  auto said_by = [&] {
    auto result = results.find(out, key);
    REQUIRE(result);
    return *result ? (*result)->output : "nobody";
  };
  CHECK(said_by() == "nobody");
  world.ledger.results[key].output = "ledger";
  CHECK(said_by() == "ledger");
  world.memo.results[key].output = "memo";
  CHECK(said_by() == "memo");
  CHECK(results.may_stand(out, key));
}

TEST_CASE("a tentative edge has the ledger's result, under a confirmed key alone") {
  World world;
  fill(world, "build out: cat in\n  tentative = 1\n", {});
  Results results(*world.graph, world.memo, world.ledger);
  const EdgeId out = maker_of(world, "out");
  const Digest key = digest_of("key"), other = digest_of("other");
  for (const Digest& one : {key, other}) {
    world.ledger.results[one].output = "ledger";
    world.memo.results[one].output = "memo";
  }
  CHECK_FALSE(*results.find(out, key));
  CHECK_FALSE(results.may_stand(out, key));
  results.confirm({digest_of("first"), key});
  CHECK((*results.find(out, key))->output == "ledger");
  CHECK(results.may_stand(out, key));
  CHECK_FALSE(*results.find(out, other));
  // A result that only the memo has does not count, even if its key is confirmed.
  world.ledger.results.clear();
  CHECK_FALSE(*results.find(out, key));
}

TEST_CASE("a tentative edge is up to date only while its key is confirmed") {
  World world;
  fill(world, "build out: cat in\n  tentative = 1\n", {{"in", "1"}});
  REQUIRE(world.build());
  const EdgeId out = maker_of(world, "out");
  Lookup before = world.lookup();
  CHECK_FALSE(is_settled(before, out));
  Lookup after = world.lookup();
  after.results().confirm({found(after, out).declared.key()});
  CHECK(is_settled(after, out));
}

TEST_CASE("the memo says what a run discovered, or else the ledger") {
  class Recalling : public tests::FakeLedger {
   public:
    Result<std::vector<std::string>> recall_discovered(const Digest&) override {
      return std::vector<std::string>{"by ledger"};
    }
  };
  World world;
  fill(world, "build out: cat in\n", {});
  Recalling ledger;
  Results results(*world.graph, world.memo, ledger);
  CHECK(*results.discovered(digest_of("key")) == std::vector<std::string>{"by ledger"});
  world.memo.discoveries[digest_of("key")] = {"by memo"};
  CHECK(*results.discovered(digest_of("key")) == std::vector<std::string>{"by memo"});
}

TEST_CASE("another rule says which edges are up to date, whatever their content") {
  World world;
  fill(world, "build out: cat in\n", {{"in", "1"}});
  REQUIRE(world.build());
  const EdgeId out = maker_of(world, "out");
  Lookup lookup = world.lookup();
  FixedRule rule;
  lookup.use(rule);
  SECTION("an unchanged edge runs, without its stored result") {
    rule.judgement.reason = Reason{.kind = Kind::other, .words = "it is Monday"};
    CHECK_FALSE(is_settled(lookup, out));
    CHECK(rule.unchanged == std::vector{true});
    const LookedUpEdge finding = found(lookup, out);
    CHECK_FALSE(finding.result);
    CHECK(*lookup.reasons(out, finding) == std::vector{*rule.judgement.reason});
  }
  SECTION("a changed one does not, and its files count as they are") {
    world.files.files["in"] = "2";
    world.files.files["out"] = "edited";
    CHECK(is_settled(lookup, out));
    CHECK(rule.unchanged == std::vector{false});
    CHECK(lookup.files().known_digest(*world.graph->find_node("out")) == content_digest("edited"));
  }
  SECTION("but one without its output runs") {
    world.files.files.erase("out");
    CHECK_FALSE(is_settled(lookup, out));
  }
}

TEST_CASE("what another rule accepts is up to date by content, too, if no run is known here") {
  World world;
  fill(world, "build out: cat in\n", {{"in", "1"}, {"out", "made elsewhere"}, {"h", "1"}});
  const EdgeId out = maker_of(world, "out");
  {
    Lookup lookup = world.lookup();
    FixedRule rule;
    rule.judgement = {std::nullopt, {lookup.files().discovered_node("h")}, 3};
    lookup.use(rule);
    REQUIRE(is_settled(lookup, out));
    CHECK(world.snapshot.edge(out)->seconds == 3);
  }
  {
    Lookup lookup = world.lookup();
    CHECK(is_settled(lookup, out));
  }
  // The inputs that the rule named count for the edge.
  world.files.files["h"] = "2";
  Lookup lookup = world.lookup();
  CHECK_FALSE(is_settled(lookup, out));
  // The rule accepts the edge once more. But a run of the edge is known by now, so by content the
  // edge is still not up to date.
  FixedRule rule;
  lookup.use(rule);
  CHECK(is_settled(lookup, out));
  Lookup next = world.lookup();
  CHECK_FALSE(is_settled(next, out));
}

TEST_CASE("another rule cannot accept what depends on something that is always new") {
  World world;
  fill(world, "build always: phony\nbuild out: cat in | always\n", {{"in", "1"}, {"out", "1"}});
  const EdgeId out = maker_of(world, "out");
  Lookup lookup = world.lookup();
  FixedRule rule;
  lookup.use(rule);
  REQUIRE(lookup.files().settle_phony(maker_of(world, "always")));
  CHECK_FALSE(is_settled(lookup, out));
  const LookedUpEdge finding = found(lookup, out);
  CHECK(finding.dirty.size() == 1);
  CHECK(lookup.reasons(out, finding)->front().kind == Kind::never_built);
}

TEST_CASE("another rule is told of each edge that ran") {
  World world;
  fill(world, "build mid: cat in\nbuild out: cat mid\n", {{"in", "1"}});
  FixedRule rule;
  rule.judgement.reason = Reason{.kind = Kind::other, .words = "it is Monday"};
  Lookup lookup = world.lookup();
  lookup.use(rule);
  auto summary = world.build({*world.graph->find_node("out")}, lookup);
  REQUIRE(summary);
  CHECK(summary->ran == 2);
  REQUIRE(rule.runs.size() == 2);
  CHECK(rule.runs[0] ==
        std::pair(maker_of(world, "mid"), (*world.ledger.last_record("mid"))->result.key));
  CHECK(rule.runs[1].first == maker_of(world, "out"));
  CHECK(world.ledger.records.back().reason == "it is Monday");
}

namespace {

// A memo on another machine, which records the keys that were announced to it.
class FarMemo : public tests::FakeMemo {
 public:
  std::vector<std::vector<Digest>> foreseen;

  explicit FarMemo(const tests::FakeMemo& memo) : FakeMemo(memo) {}
  Status foresee(std::span<const Digest> keys) override {
    foreseen.emplace_back(keys.begin(), keys.end());
    return {};
  }
};

// A disk on which the look-up of one path fails.
class PartlyBroken : public tests::FakeFiles {
 public:
  std::string broken;

  Result<std::optional<FileState>> look(const std::string& path, const FileState* before) override {
    if (path == broken) return external("stat '" + path + "': Permission denied");
    return FakeFiles::look(path, before);
  }
};

}  // namespace

TEST_CASE("a far memo is told at once of all edges that may be looked up, and once of each") {
  World world;
  fill(world, "build a: cat in\nbuild done: cat in\nbuild b: inc in\nbuild out: cat a b\n",
       {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  // As in another clone, only the edge of `done` is up to date.
  for (const char* name : {"a", "b", "out"}) world.snapshot.forget(maker_of(world, name));
  FarMemo far(world.memo);
  Lookup lookup(*world.graph, world.files, far, world.ledger, world.snapshot, {});
  BuildPlan plan(*world.graph, *world.graph->default_targets());
  REQUIRE(lookup.look_ahead(plan));
  CHECK(far.foreseen.empty());
  lookup.results().use_far_memo();
  REQUIRE(lookup.look_ahead(plan));
  const LookedUpEdge a = found(lookup, maker_of(world, "a")),
                     b = found(lookup, maker_of(world, "b"));
  REQUIRE(far.foreseen.size() == 2);
  CHECK(far.foreseen[0] == std::vector{a.declared.key(), b.declared.key()});
  // The discovered inputs that the far memo stores lead to another key.
  CHECK(far.foreseen[1] == std::vector{b.full->key()});
  REQUIRE(lookup.look_ahead(plan));
  CHECK(far.foreseen.size() == 2);
}

TEST_CASE("what a run on another machine discovered is of no use if it cannot be looked at here") {
  World world;
  fill(world, "build out: inc in\n", {{"in", "1"}, {"header", "h"}});
  REQUIRE(world.build());
  PartlyBroken files;
  files.files = world.files.files;
  files.broken = "header";
  Lookup lookup(*world.graph, files, world.memo, world.ledger, world.snapshot, {});
  const EdgeId out = maker_of(world, "out");
  auto own = lookup.find(out);
  REQUIRE_FALSE(own);
  CHECK(own.error().message == "out: stat 'header': Permission denied");
  lookup.results().use_far_memo();
  const LookedUpEdge finding = found(lookup, out);
  CHECK(finding.full->key() == finding.declared.key());
  CHECK_FALSE(finding.result);
}

TEST_CASE("inputs in another order are a reason, though the command does not name them") {
  World world;
  const std::string rule = "rule write\n  command = cat out\n";
  fill(world, rule + "build out: write a b\n", {{"a", "1"}, {"b", "2"}});
  REQUIRE(world.build());
  REQUIRE(world.load(rule + "build out: write b a\n"));
  CHECK(reasons_of(world) ==
        std::vector<Reason>{
            {.kind = Kind::changed, .part = "input", .words = "inputs in a different order"}});
}
