#include "engine/build/snapshot.h"

#include "engine/graph/manifest.h"
#include "engine/ninja/ninja_logs.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

std::unique_ptr<Graph> graph_of(const std::string& manifest) {
  auto graph = std::make_unique<Graph>();
  auto parsed = parse_manifest(
      "m", [&](const std::string&) { return Result<std::string>(manifest); }, *graph);
  REQUIRE(parsed);
  return graph;
}

const char* const kManifest =
    "rule cc\n  command = cc $in\n"
    "build a.o: cc a.c\nbuild b.o: cc b.c\nbuild app: cc a.o b.o\n";

// Returns a snapshot of all files of the manifest, two headers, and two edges.
std::string stored(Graph& graph) {
  Snapshot snapshot;
  const NodeId header = graph.node("inc/x.h"), other = graph.node("inc/y.h");
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const auto node = static_cast<NodeId>(i);
    snapshot.set_file(node, {digest_of(graph.node(node).path), digest_of("stamp")});
  }
  const std::vector<NodeId> both = {header, other}, one = {other};
  snapshot.set_edge(EdgeId{0}, {digest_of("key a"), 1.5, both});
  snapshot.set_edge(EdgeId{1}, {digest_of("key b"), 2, one});
  CHECK(snapshot.is_changed());
  return snapshot.encode(graph);
}

}  // namespace

TEST_CASE("a snapshot is read as it was written") {
  auto graph = graph_of(kManifest);
  const std::string bytes = stored(*graph);
  auto again = graph_of(kManifest);
  auto snapshot = Snapshot::decode(bytes, *again);
  REQUIRE(snapshot);
  CHECK(!snapshot->is_changed());
  REQUIRE(snapshot->file(*again->find_node("a.c")) != nullptr);
  CHECK(snapshot->file(*again->find_node("a.c"))->content == digest_of("a.c"));
  auto edge = snapshot->edge(EdgeId{0});
  REQUIRE(edge);
  CHECK(edge->key == digest_of("key a"));
  CHECK(edge->seconds == 1.5F);
  REQUIRE(edge->discovered.size() == 2);
  CHECK(again->path(edge->discovered[0]) == "inc/x.h");
  CHECK(again->path(edge->discovered[1]) == "inc/y.h");
  CHECK(!snapshot->edge(EdgeId{2}));
  CHECK(snapshot->encode(*again) == bytes);
  snapshot->forget(EdgeId{0});
  CHECK(!snapshot->edge(EdgeId{0}));
  CHECK(snapshot->is_changed());
}

TEST_CASE("a snapshot finds its files in a manifest that has changed, and drops what is gone") {
  auto graph = graph_of(kManifest);
  const std::string bytes = stored(*graph);
  auto other = graph_of(
      "rule cc\n  command = cc $in\nbuild new: cc new.c\nbuild b.o: cc b.c\nbuild app: cc b.o\n");
  auto snapshot = Snapshot::decode(bytes, *other);
  REQUIRE(snapshot);
  CHECK(!snapshot->edge(EdgeId{0}));
  REQUIRE(snapshot->edge(EdgeId{1}));
  CHECK(snapshot->edge(EdgeId{1})->key == digest_of("key b"));
  CHECK(snapshot->file(*other->find_node("new.c")) == nullptr);
  CHECK(!other->find_node("a.c"));
}

TEST_CASE("a snapshot that was cut or changed anywhere is not read") {
  auto graph = graph_of(kManifest);
  const std::string bytes = stored(*graph);
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto again = graph_of(kManifest);
    CHECK(!Snapshot::decode(bytes.substr(0, size), *again));
    std::string flipped = bytes;
    flipped[size] = static_cast<char>(flipped[size] ^ 0x40);
    CHECK(!Snapshot::decode(flipped, *again));
  }
}

TEST_CASE("stock ninja's hashes of commands") {
  // The hashes are from logs that ninja 1.11.1 and 1.13.2 wrote.
  struct Sample {
    std::string output;
    uint64_t murmur, rapid;
  };
  const std::vector<Sample> samples = {
      {"out", 0xe39a965bd20db18c, 0x1967d4e65c3fcfd4},
      {"out-long-name-of-a-file-that-makes-the-command-longer-than-forty-eight-bytes",
       0xfd8667697d019052, 0x3a5fe299213264c9},
      {"out2-long-name-of-a-file-that-makes-the-command-longer-than-ninety-six-bytes-and-some-more-"
       "bytes-still-and-more",
       0x6368c89d62096763, 0x4ffe16b9a3eadd63}};
  for (const Sample& sample : samples) {
    const std::string command = "cp in " + sample.output;
    CAPTURE(command);
    CHECK(ninja::command_hash(5, command) == sample.murmur);
    CHECK(ninja::command_hash(6, command) == sample.murmur);
    CHECK(ninja::command_hash(7, command) == sample.rapid);
  }
}

TEST_CASE("stock ninja's logs are read as far as they are whole") {
  auto log = ninja::parse_build_log(
      "# ninja log v7\n0\t12\t99\tout\tff\nbroken\n1\t2\t3\tout\t10\n1\t2\t3\tcut");
  REQUIRE(log);
  CHECK(log->is_stale);
  CHECK(log->entries.size() == 1);
  CHECK(log->entries.at("out").command_hash == 0x10);
  CHECK(log->entries.at("out").end == 2);
  CHECK(ninja::encode(*log) == "# ninja log v7\n1\t2\t3\tout\t10\n");
  CHECK(!ninja::parse_build_log("# ninja log v4\n"));
  CHECK(!ninja::parse_build_log(""));

  auto word = [](uint32_t value) { return std::string(reinterpret_cast<char*>(&value), 4); };
  auto path = [&](std::string text, uint32_t id) {
    text.resize((text.size() + 3) / 4 * 4);
    return word(static_cast<uint32_t>(text.size()) + 4) + text + word(~id);
  };
  const std::string bytes = "# ninjadeps\n" + word(4) + path("out", 0) + path("inc/a.h", 1) +
                            word(0x80000000U | 16) + word(0) + word(7) + word(0) + word(1);
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto cut = ninja::DepsLog::parse(bytes.substr(0, size));
    CHECK((!cut || cut->by_output().empty()));
  }
  auto deps = ninja::DepsLog::parse(bytes);
  REQUIRE(deps);
  CHECK(!deps->is_stale());
  CHECK(deps->find("out")->mtime == 7);
  CHECK(deps->find("out")->inputs == std::vector<std::string>{"inc/a.h"});
  CHECK(deps->encode() == bytes);
  CHECK(ninja::DepsLog::parse(bytes + deps->add("b", {8, {"out"}}))->find("b")->mtime == 8);
  CHECK(ninja::DepsLog::parse(bytes + "cut")->is_stale());
}
