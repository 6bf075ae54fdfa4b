#include "engine/core/key.h"

#include <fmt/format.h>

#include <array>

#include "engine/build/edge_key.h"
#include "engine/core/key_change.h"
#include "engine/core/machine_paths.h"
#include "engine/graph/depfile.h"
#include "engine/graph/manifest.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

KeyWriter key_of(const std::string& manifest, const std::vector<MachineBinding>& machine = {},
                 const std::string& target = "out") {
  Graph graph;
  auto parsed = parse_manifest(
      "m", [&](const std::string&) { return Result<std::string>(manifest); }, graph);
  REQUIRE(parsed);
  EdgeId edge = *graph.node(*graph.find_node(target)).made_by;
  InputDigests inputs;
  for (NodeId node : graph.edge(edge).content_inputs()) {
    // The content of "dir/in" is "in", so that files under different paths have the same bytes.
    std::string path = graph.path(node);
    inputs.content.push_back(digest_of(path.substr(path.rfind('/') + 1)));
  }
  KeyWriter key;
  write_key(graph, edge, inputs, machine, key);
  KeyWriter quick(KeyWriter::Keep::digests);
  write_key(graph, edge, inputs, machine, quick);
  CHECK(quick.key() == key.key());
  return key;
}

}  // namespace

TEST_CASE("the digest of fixed bytes is pinned: a change would orphan every stored key") {
  CHECK(digest_of("").hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(digest_of("evolve").hex().size() == 32);
  CHECK(Digest::from_hex(digest_of("x").hex()) == digest_of("x"));
  CHECK(!Digest::from_hex("zz"));
}

TEST_CASE("the pieces of a text hash as the text") {
  Hasher hasher;
  hasher.add("ab");
  hasher.add("c");
  CHECK(hasher.digest() == digest_of("abc"));
}

TEST_CASE("parts are framed: moving a byte from one to the next is another key") {
  KeyWriter a, b;
  a.add("t", "ab", "c");
  b.add("t", "a", "bc");
  CHECK(a.key() != b.key());
}

TEST_CASE("the key of fixed parts is pinned to the scheme") {
  KeyWriter key;
  key.add("rule", "", "cc");
  key.add("input", "a.c", digest_of("x").hex());
  CHECK(std::string(kKeyScheme) == "evolve-key-3");
  CHECK(key.key().hex() == "16ca815a1c9b516063591877184da4a8");
}

TEST_CASE("a path counts, unless the edge is portable") {
  const std::string rule = "rule r\n  command = run $in $out\n";
  CHECK(key_of(rule + "build a/out: r a/in\n", {}, "a/out").key() !=
        key_of(rule + "build b/out: r b/in\n", {}, "b/out").key());
  const std::string portable = "  portable = 1\n";
  CHECK(key_of(rule + "build a/out: r a/in\n" + portable, {}, "a/out").key() ==
        key_of(rule + "build b/out: r b/in\n" + portable, {}, "b/out").key());
}

TEST_CASE("a portable edge still tells its inputs apart by position") {
  const std::string rule = "rule r\n  command = run $in\n";
  const std::string portable = "  portable = 1\n";
  CHECK(key_of(rule + "build out: r a b\n" + portable).key() !=
        key_of(rule + "build out: r b a\n" + portable).key());
}

TEST_CASE("paths of this machine are symbolic in a key") {
  const std::string body = "rule r\n  command = $py $in --to=$out\nbuild $w/out: r $w/in\n";
  auto at = [&](const std::string& work, const std::string& python) {
    return key_of("w = " + work + "\npy = " + python + "\n" + body,
                  {{"work", work}, {"python", python}}, work + "/out");
  };
  KeyWriter key = at("/home/me/w", "/usr/bin/python3");
  CHECK(key.key() == at("elsewhere", "venv/bin/python").key());
  CHECK(key.parts()[1].value == "$python $work/in --to=$work/out");
}

TEST_CASE("a folder's name is not in a key, although the shell needs it in quotes") {
  auto symbolic = [](const std::string& work, const std::string& command) {
    return symbolic_command(command, std::array{MachineBinding{"work", work}});
  };
  const std::string plain = symbolic(".evolve/p", "cat .evolve/p/in --to=.evolve/p/out '--x y'");
  CHECK(plain == "cat $work/in --to=$work/out '--x y'");
  CHECK(symbolic("my plan", "cat 'my plan'/in --to='my plan/out' '--x y'") == plain);
  CHECK(symbolic("/it's $a", "cat '/it'\\''s $a/in' --to='/it'\\''s $a'/out '--x y'") == plain);
  // Different words with the same letters stay different.
  CHECK(symbolic("my plan", "cat 'my plan/a b'") != symbolic("my plan", "cat 'my plan/a' b"));
  CHECK(symbolic("my plan", "cat 'my planet/a'") == "cat 'my planet/a'");
  CHECK(symbolic("my plan", "cat 'my plan") == "cat 'my plan");
}

TEST_CASE("a measurement on one kind of device, or by one protocol, is not a result for another") {
  auto key = [](const std::string& kind, const std::string& protocol) {
    return key_of("rule r\n  command = c\nbuild out: r\n  class = measured\n  device_kind = " +
                  kind + "\n  protocol = " + protocol + "\n")
        .key();
  };
  CHECK(key("tpu7x", "p1") == key("tpu7x", "p1"));
  CHECK(key("tpu7x", "p1") != key("tpu6e", "p1"));
  CHECK(key("tpu7x", "p1") != key("tpu7x", "p2"));
}

TEST_CASE("order-only inputs and a pool do not count, the toolchain and the response file do") {
  const std::string rule = "rule r\n  command = c\n";
  const std::string plain = rule + "build out: r in\n";
  CHECK(key_of(plain).key() == key_of(rule + "build out: r in || x\n").key());
  CHECK(key_of(plain).key() != key_of(rule + "build out: r in | x\n").key());
  CHECK(key_of(plain).key() != key_of(plain + "  toolchain = jax-1\n").key());
  CHECK(key_of(plain).key() != key_of(plain + "  rspfile_content = a\n").key());
}

TEST_CASE("a command's words are compared as a sequence") {
  const std::string start = "a program whose command line is long ";
  auto described = [&](const std::string& before, const std::string& after) {
    return text_of({"command", "", start + before, start + after});
  };
  CHECK(described("--id v1 --out x/v1", "--id v2 --out x/v2") ==
        "command: --id v1 -> v2, --out x/v1 -> x/v2");
  CHECK(described("--id v1", "--fast --id v1 --new y") == "command: --fast is new, --new y is new");
  CHECK(described("--id v1 z", "--id v1") == "command: z is gone");
}

TEST_CASE("changes are described by the parts that differ") {
  std::vector<KeyPart> before = {
      {"command", "", "time --repeats 20 --warm-up 3 --case square_4096 a.json"},
      {"input", "a", digest_of("1").hex()},
      {"environment", "X", "1"}};
  std::vector<KeyPart> after = {
      {"command", "", "time --repeats 50 --warm-up 3 --case square_4096 a.json"},
      {"input", "a", digest_of("2").hex()},
      {"input", "b", digest_of("3").hex()}};
  auto described = [](const auto& a, const auto& b) {
    std::vector<std::string> out;
    for (const KeyChange& change : changes_between(a, b)) out.push_back(text_of(change));
    return out;
  };
  CHECK(described(before, after) ==
        std::vector<std::string>{
            "command: --repeats 20 -> 50",
            "input 'a': " + digest_of("1").brief() + " -> " + digest_of("2").brief(),
            "input 'b' is new", "environment 'X' is gone"});
  CHECK(described(after, after).empty());
  CHECK(text_of({"toolchain", "", "cpython-3.11.2 jax-0.10.1 old-1",
                 "cpython-3.11.2 jax-0.10.2 ml-dtypes-0.6.0"}) ==
        "toolchain: jax 0.10.1 -> 0.10.2, ml-dtypes 0.6.0 is new, old 1 is gone");
}

TEST_CASE("depfiles of compilers and steps are read") {
  auto read = parse_depfile("out: a.h \\\n  dir/./b.h with\\ space c$$d\nout: a.h e\n");
  REQUIRE(read);
  CHECK(read->inputs == std::vector<std::string>{"a.h", "dir/b.h", "with space", "c$d", "e"});
  CHECK(read->outputs == std::vector<std::string>{"out"});
  CHECK(parse_depfile("")->inputs.empty());
  // With -MP, GCC also writes rules such as `x.h:`. Each output may be on a line of its own.
  read = parse_depfile("a \\\n b: x.h\nx.h:\n");
  REQUIRE(read);
  CHECK(read->inputs == std::vector<std::string>{"x.h"});
  CHECK(read->outputs == std::vector<std::string>{"a", "b"});
}

TEST_CASE("what a depfile cannot say is told in Ninja's words") {
  CHECK(parse_depfile("no colon\n").error().message == "expected ':' in depfile");
  CHECK(parse_depfile("out: in h\nh: k\n").error().message == "inputs may not also have inputs");
}

TEST_CASE("backslashes in depfiles are read as Ninja reads them") {
  auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"(a\b)", R"(a\b)"},  // kept, because the backslash escapes nothing
      {R"(a\\b)", R"(a\\b)"},
      {R"(a\#b)", R"(a#b)"},
      {R"(a\\#b)", R"(a\#b)"},  // the second backslash escapes
      {R"(c\:x)", R"(c:x)"},
      {R"(a\ b)", R"(a b)"},
      {R"(a\\\ b)", R"(a\ b)"},  // an odd number: half of them stay, with the blank
      {R"(a\\ )", R"(a\\)"},     // an even number: the name ends
      {"a\\\\", "a\\\\"},        // two backslashes before a newline do not continue the line
  }));
  CAPTURE(text);
  auto read = parse_depfile(fmt::format("out: {}\n", text));
  REQUIRE(read);
  CHECK(read->inputs == std::vector<std::string>{path});
}
