// Tests of the record of a round: its stored form, and where two records differ.
#include "engine/core/record.h"

#include "engine/app/campaign.h"
#include "engine/core/path.h"
#include "engine/core/text/plain_text.h"
#include "tests/catch.h"

using namespace evolve;

namespace {

RecordedStep step(const std::string& output, const std::string& key, const std::string& bytes) {
  RecordedStep out;
  out.step = "lower";
  out.subject = output;
  out.key = digest_of(key);
  out.outputs = {{"$work/" + output, digest_of(bytes)}, {"$work/" + output + ".d", digest_of("d")}};
  return out;
}

Record sample() {
  Record record;
  record.toolchain = "cpython-3.11 \"jax\"-0.10";
  record.sources = {{"$rules/a.py", digest_of("a")}, {"kernels/k b.py", digest_of("b")}};
  record.steps = {step("one", "k1", "1"), step("two", "k2", "2")};
  record.steps[1].step_class = StepClass::measured;
  return record;
}

}  // namespace

TEST_CASE("a record is read as it was written") {
  const Record record = sample();
  auto again = decode_record(encode(record));
  REQUIRE(again);
  CHECK(*again == record);
  CHECK(encode(*again) == encode(record));
}

TEST_CASE("a text that is not a record is refused") {
  CHECK(decode_record("").error().message == "not a record of a round");
  CHECK(decode_record("[1]").error().message == "not a record of a round");
  CHECK(decode_record(R"({"format": "evolve-record-9"})").error().message.find("evolve-record-9") !=
        std::string::npos);
  const std::string text = encode(sample());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"measured", "guessed"},
                                                        {"\"key\"", "\"kye\""},
                                                        {digest_of("a").hex(), "abc"},
                                                        {"$rules/a.py", "../a.py"},
                                                        {"$rules/a.py", "/etc/passwd"},
                                                        {"$rules/a.py", "$rules/../../a.py"},
                                                        {"$rules/a.py", ""},
                                                        {"$work/one\"", "$work//one\""}}) {
    std::string broken = text;
    const size_t at = broken.find(from);
    REQUIRE(at != std::string::npos);
    broken.replace(at, from.size(), to);
    CAPTURE(to);
    auto record = decode_record(broken);
    REQUIRE(!record);
    CHECK(record.error().message == "the record of the round is damaged");
  }
}

TEST_CASE("a record's files are in the folders of a round, and nowhere else") {
  auto is_taken = [](const std::string& source, const std::string& output) {
    Record record = sample();
    record.sources[0].path = source;
    record.steps[1].outputs[1].path = output;
    auto read = decode_record(encode(record));
    if (!read) CHECK(read.error().message == "the record of the round is damaged");
    return bool(read);
  };
  const std::string source = "kernels/a.py", output = "$work/round-1/a.json";
  CHECK(is_taken(source, output));
  for (const char* its :
       {"$work/rounds.ninja", "$rules/a.py", "$steps/select", "..a/..b", "$outside/home/me/a.py"}) {
    CAPTURE(its);
    CHECK(is_taken(its, output));
  }
  for (const char* its : {"$..", "$../.profile", "$python", "$python/a", "$outside", "$", "$rules",
                          "$rulesx/a", "$HOME/a", "$work/a.json", "$work/steps/argparse.py",
                          "$work/rounds.ninja/a", "$rules/../a", "a/../../b", ".."}) {
    CAPTURE(its);
    CHECK(!is_taken(its, output));
  }
  for (const char* its : {"$../.profile", "$python", "$rules/a.py", "$steps/select", "$work",
                          "$outside/etc/passwd", "kernels/a.py", "$work/../a", "$workx/a"}) {
    CAPTURE(its);
    CHECK(!is_taken(source, its));
  }
}

TEST_CASE("a record has any path, as a plain line") {
  for (const std::string& path : {std::string("kernels/a.py"), std::string("a\nb/\xff.py"),
                                  std::string("$outside/x\x1b/100%"), std::string("$bytes/a"),
                                  std::string("100%/gr\xc3\xb6")}) {
    CAPTURE(path);
    const std::string name = recorded_name(path);
    CHECK(is_plain_line(name));
    CHECK(path_of_recorded(name) == path);
  }
  CHECK(recorded_name("kernels/a b%.py") == "kernels/a b%.py");
  CHECK(recorded_name("a\n%") == "$bytes/a%0A%25");
  Record record = sample();
  record.sources[0].path = recorded_name("a\nb.py");
  CHECK(decode_record(encode(record))->sources[0].path == record.sources[0].path);
  // A name that leads out of its folder, or that recorded_name() does not give, is refused.
  for (const char* name :
       {"$bytes/..%2F%0A", "$bytes/%0A/../..", "$bytes/a", "$bytes/%24work%0A"}) {
    CAPTURE(name);
    record.sources[0].path = name;
    CHECK(!decode_record(encode(record)));
  }
}

TEST_CASE("a path stays below its folder") {
  for (const char* path : {"a", "a/b", "a/../b", "..a", "", "."}) CHECK(is_below(path));
  for (const char* path : {"/", "/a", "..", "../a", "a/../../b", "./../a"}) CHECK(!is_below(path));
}

TEST_CASE("the folder of a path is one that can be made") {
  CHECK(folder_of("out") == ".");
  CHECK(folder_of("a/b/out") == "a/b");
  CHECK(folder_of("/out") == "/");
  CHECK(folder_prefix("out").empty());
  CHECK(folder_prefix("a/b/out") == "a/b/");
  CHECK(folder_prefix("/out") == "/");
}

TEST_CASE("a path that commands have unquoted is a plain one") {
  for (const char* path : {"/home/me/.evolve/a", "a", ".evolve/a-b_c,d+e@f.g",
                           "gr\xc3\xb6\xc3\x9f"
                           "e/a"}) {
    CAPTURE(path);
    CHECK(is_plain_path(path));
  }
  for (const char* path : {"",
                           "a b",
                           "a;touch PWN;b",
                           "a&b",
                           "a'b",
                           "a\"b",
                           "a$x",
                           "a`id`",
                           "a\nb",
                           "a\tb",
                           "a|b",
                           "a>b",
                           "a<b",
                           "a(b",
                           "a)b",
                           "a*b",
                           "a?b",
                           "a[b",
                           "a{b",
                           "a~b",
                           "a#b",
                           "a!b",
                           "a\\b",
                           "a:b",
                           "a=b",
                           "a%b",
                           "-a",
                           "a\x1b[31m",
                           "a\xe2\x80\xae"
                           "b",
                           "a\xff"
                           "b"}) {
    CAPTURE(path);
    CHECK(!is_plain_path(path));
  }
}

TEST_CASE("a campaign whose paths a manifest cannot have is not opened") {
  Campaign campaign;
  campaign.name = "a";
  campaign.path = "a.yaml";
  campaign.work = ".evolve/a";
  campaign.rules = "rules";
  campaign.steps = "/opt/evolve/steps";
  campaign.python = ".venv/bin/python";
  CHECK(check_bindings(campaign));
  campaign.device_kind = "cpu:x";
  campaign.work = "$HOME/it's `a` \"b\"\n;touch PWN";
  CHECK(check_bindings(campaign));
  for (auto [path, text] : {std::pair(&Campaign::work, "\r"), std::pair(&Campaign::steps, "\r"),
                            std::pair(&Campaign::device_kind, ";touch PWN;b")}) {
    Campaign other = campaign;
    other.*path += text;
    auto status = check_bindings(other);
    REQUIRE(!status);
    CHECK(status.error().code == ErrorCode::bad_input);
    CHECK(status.error().message.starts_with("a.yaml: "));
    CHECK(!status.error().hint.empty());
    CHECK(read_manifest(other, "").error().message == status.error().message);
  }
}

TEST_CASE("a later round adds to a record, and changes it") {
  Record record = sample();
  Record later;
  later.toolchain = "newer";
  later.sources = {{"$rules/a.py", digest_of("new")}, {"new.py", digest_of("n")}};
  later.steps = {step("two", "k2b", "2b"), step("three", "k3", "3")};
  add_to(record, later);
  CHECK(record.toolchain == "newer");
  CHECK(record.sources == std::vector<RecordedFile>{{"$rules/a.py", digest_of("new")},
                                                    {"kernels/k b.py", digest_of("b")},
                                                    {"new.py", digest_of("n")}});
  CHECK(record.steps == std::vector<RecordedStep>{step("one", "k1", "1"), step("two", "k2b", "2b"),
                                                  step("three", "k3", "3")});
}

TEST_CASE("records part at the first step that is not the same") {
  const Record record = sample();
  CHECK(!first_parting(record, record));
  Record other = record;
  other.steps[1] = step("two", "k2", "other");
  other.steps.push_back(step("three", "k3", "3"));
  auto parting = first_parting(record, other);
  REQUIRE(parting);
  CHECK(parting->kind == Parting::Kind::bytes);
  CHECK(parting->a->subject == "two");
  other.steps[0].key = digest_of("another");
  CHECK(first_parting(record, other)->kind == Parting::Kind::key);
  other = record;
  other.steps.push_back(step("three", "k3", "3"));
  CHECK(first_parting(record, other)->kind == Parting::Kind::added);
  CHECK(first_parting(other, record)->kind == Parting::Kind::missing);
  CHECK(first_parting(other, record)->a->subject == "three");
}
