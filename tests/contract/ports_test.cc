// Contract tests: one suite for all implementations of each port. They show that the fakes of the
// other tiers behave like the real ports.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cache/blob_store.h"
#include "cache/ledger.h"
#include "cache/memo.h"
#include "engine/core/crypto/content.h"
#include "engine/world/claims.h"
#include "engine/world/disk_files.h"
#include "engine/world/links.h"
#include "tests/catch.h"
#include "tests/fakes.h"
#include "tests/test_folder.h"

using namespace evolve;
using tests::TestFolder;
namespace fs = std::filesystem;

namespace {

struct RealFiles {
  TestFolder folder;
  world::DiskFiles files;
  std::string at(const std::string& name) { return folder / name; }
};

struct RealLinks {
  TestFolder folder;
  world::DiskFiles files;
  world::DiskLinks links;
  std::string at(const std::string& name) { return folder / name; }
};

struct MemoryLinks {
  tests::FakeFiles files;
  tests::FakeLinks links{files};
  std::string at(const std::string& name) { return "/root/" + name; }
};

struct MemoryFiles {
  tests::FakeFiles files;
  std::string at(const std::string& name) { return "/root/" + name; }
};

ActionResult result_under(const std::string& key) {
  ActionResult result;
  result.key = content_digest(key);
  result.declared_key = content_digest("declared " + key);
  result.parts = {{"command", "", "run 'it' \"now\"\n"}, {"input", "a", content_digest("a").hex()}};
  result.discovered = {"a.py", "dir/b c.py"};
  result.outputs = {content_digest("1"), content_digest("2"), content_digest("3")};
  result.links = {{1, "../a b", false}, {2, "$root/x", true}};
  result.verdict = "rejected";
  result.output = "warning: it\n";
  result.seconds = 1.25;
  result.paid_by = "$work/x";
  result.built_at = "2026-01-01T00:00:00Z";
  return result;
}

void check_same(const ActionResult& a, const ActionResult& b) {
  CHECK(a.key == b.key);
  CHECK(a.declared_key == b.declared_key);
  CHECK(a.parts == b.parts);
  CHECK(a.discovered == b.discovered);
  CHECK(a.outputs == b.outputs);
  CHECK(a.links == b.links);
  CHECK(a.verdict == b.verdict);
  CHECK(a.output == b.output);
  CHECK(a.seconds == b.seconds);
  CHECK(a.paid_by == b.paid_by);
  CHECK(a.built_at == b.built_at);
}

void check_memo(Memo& memo) {
  ActionResult result = result_under("k");
  result.parts.clear();
  CHECK(!*memo.find(result.key));
  CHECK(memo.discovered(result.declared_key)->empty());
  REQUIRE(memo.put(result));
  auto found = memo.find(result.key);
  REQUIRE(found);
  REQUIRE(*found);
  check_same(**found, result);
  CHECK(*memo.discovered(result.declared_key) == result.discovered);
  result.seconds = 2;
  REQUIRE(memo.put(result));
  CHECK((*memo.find(result.key))->seconds == 2);
  result.discovered.clear();
  REQUIRE(memo.put(result));
  CHECK(memo.discovered(result.declared_key)->empty());
  // A result that discovered nothing is stored under the declared key, until a run under that key
  // discovers an input.
  ActionResult plain = result_under("plain");
  plain.discovered.clear();
  plain.key = plain.declared_key;
  REQUIRE(memo.put(plain));
  CHECK(*memo.find(plain.declared_key));
  plain.key = content_digest("full");
  plain.discovered = {"a.h"};
  REQUIRE(memo.put(plain));
  CHECK(!*memo.find(plain.declared_key));
}

}  // namespace

TEMPLATE_TEST_CASE("links", "[contract]", RealLinks, MemoryLinks) {
  TestType world;
  Files& files = world.files;
  Links& links = world.links;
  const std::string file = world.at("file"), path = world.at("link");
  const std::vector<std::string> others = {world.at("none"), file};
  REQUIRE(files.make_folders(world.at("")));
  REQUIRE(files.write(file, "one"));
  CHECK(!*links.look(path, others));
  CHECK(!*links.look(file, {}));
  for (bool is_hard : {false, true, true}) {
    CAPTURE(is_hard);
    REQUIRE(*links.make(path, {file, is_hard}));
    CHECK(*files.digest(path) == content_digest("one"));
    auto link = links.look(path, others);
    REQUIRE(link);
    REQUIRE(*link);
    CHECK((*link)->is_hard == is_hard);
    CHECK((*link)->target == file);
  }
  CHECK(!*links.look(path, {}));
  // A hard link needs an existing target. Without one, the file at the link's own path stays.
  CHECK(!*links.make(path, {world.at("none"), true}));
  CHECK(*files.digest(path) == content_digest("one"));
  // A symbolic link does not need its target.
  REQUIRE(*links.make(path, {world.at("none"), false}));
  CHECK(!*files.digest(path));
}

TEST_CASE("a link is made beside what is there, or not at all", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  world::DiskLinks links;
  REQUIRE(files.make_folders(folder / "folder"));
  CHECK(!*links.make(folder / "folder", {"x", false}));
  CHECK(fs::is_directory(folder / "folder"));
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 1);
}

TEMPLATE_TEST_CASE("files", "[contract]", RealFiles, MemoryFiles) {
  TestType world;
  Files& files = world.files;
  REQUIRE(files.make_folders(world.at("a/b")));
  std::string path = world.at("a/b/file");
  CHECK(!*files.digest(path));
  CHECK(!files.read(path));
  CHECK(files.read(path).error().code == ErrorCode::external);
  CHECK(files.read(path).error().message == "open '" + path + "': No such file or directory");
  REQUIRE(files.write(path, "one"));
  CHECK(*files.read(path) == "one");
  CHECK(*files.digest(path) == content_digest("one"));
  REQUIRE(files.write(path, std::string("t\0wo", 4)));
  CHECK(files.read(path)->size() == 4);
  std::string other = world.at("a/other");
  CHECK(*files.place(path, other, Sharing::names, **files.digest(path)));
  CHECK(*files.digest(other) == *files.digest(path));
  // Writing replaces a name; it does not change the bytes behind another name.
  REQUIRE(files.write(path, "new"));
  CHECK(files.read(other)->size() == 4);
  CHECK(*files.place(path, other, Sharing::bytes, content_digest("new")));
  CHECK(*files.read(other) == "new");
  CHECK(!*files.place(world.at("nothing"), other, Sharing::bytes, content_digest("new")));
  for (Sharing sharing : {Sharing::names, Sharing::bytes}) {
    CHECK(!*files.place(path, other, sharing, content_digest("old")));
  }
  CHECK(*files.read(other) == "new");
  REQUIRE(files.remove(path));
  REQUIRE(files.remove(path));
  CHECK(!*files.digest(path));
}

TEST_CASE("a file that holds the bytes already is left alone", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  REQUIRE(files.write(folder / "f", "same"));
  auto before = fs::last_write_time(folder / "f");
  fs::last_write_time(folder / "f", before - std::chrono::hours(1));
  REQUIRE(files.write(folder / "f", "same"));
  CHECK(fs::last_write_time(folder / "f") == before - std::chrono::hours(1));
}

TEST_CASE("a file whose stamp is known is not read, one that is too new has none", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  const std::string path = folder / "f";
  REQUIRE(files.write(path, "one"));
  // The file was written just now. It gets no stamp, because another write might lead to the same
  // stamp.
  auto fresh = files.look(path, nullptr);
  REQUIRE(fresh);
  CHECK((*fresh)->stamp == Digest{});
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  // Setting the time is a change, too, so the file gets a stamp only after a while.
  std::optional<FileState> settled;
  while (!settled || settled->stamp == Digest{}) settled = **files.look(path, nullptr);
  CHECK(settled->content == content_digest("one"));
  // For a file with this stamp, look() trusts the state that the caller passes.
  const FileState told = {content_digest("told"), settled->stamp};
  CHECK((*files.look(path, &told))->content == content_digest("told"));
  // A file with the same size and time, but other bytes, is noticed.
  const auto time = fs::last_write_time(path);
  { std::ofstream(path) << "two"; }
  fs::last_write_time(path, time);
  CHECK((*files.look(path, &told))->content == content_digest("two"));
  REQUIRE(files.remove(path));
  CHECK(!*files.look(path, &told));
}

TEST_CASE("a memo in memory and one on disk", "[contract]") {
  SECTION("in memory") {
    tests::FakeMemo memo;
    check_memo(memo);
  }
  SECTION("on disk") {
    TestFolder folder;
    std::string warning;
    auto memo = cache::SqliteMemo::open(folder / "memo.db", warning);
    REQUIRE(memo);
    CHECK(warning.empty());
    check_memo(**memo);
    // A memo that is opened again, as by another process, has the result.
    auto again = cache::SqliteMemo::open(folder / "memo.db", warning);
    REQUIRE(again);
    CHECK(*(*again)->find(content_digest("k")));
  }
}

TEST_CASE("a memo that is no memo is set aside with a warning", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  REQUIRE(files.write(folder / "memo.db",
                      "this is no database, but longer than one page's header would be"));
  std::string warning;
  auto memo = cache::SqliteMemo::open(folder / "memo.db", warning);
  REQUIRE(memo);
  CHECK(warning == folder / "memo.db" + ": file is not a database; moved to " +
                       (folder / "memo.db") + ".unreadable; starting with an empty database");
  CHECK(fs::exists(folder / "memo.db.unreadable"));
  check_memo(**memo);
}

TEST_CASE("a memo that was cut off, or is damaged within, is set aside when that shows",
          "[contract]") {
  TestFolder folder;
  const std::string path = folder / "memo.db";
  std::string warning;
  {
    auto memo = cache::SqliteMemo::open(path, warning);
    REQUIRE(memo);
    for (int i = 0; i < 100; ++i) REQUIRE((*memo)->put(result_under(std::to_string(i))));
  }
  SECTION("within a page") {
    fs::resize_file(path, fs::file_size(path) - 1000);
    auto memo = cache::SqliteMemo::open(path, warning);
    REQUIRE(memo);
    CHECK(warning == path + ": the file is truncated; moved to " + path +
                         ".unreadable; starting with an empty database");
    check_memo(**memo);
  }
  SECTION("pages that hold something else") {
    const auto page = fs::file_size(path) / 8;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(page));
    file << std::string(fs::file_size(path) - page, 'x');
    file.close();
    auto memo = cache::SqliteMemo::open(path, warning);
    REQUIRE(memo);
    CHECK(warning.empty());
    if (GENERATE(true, false)) {
      auto found = (*memo)->find(result_under("7").key);
      REQUIRE(found);
      CHECK(!*found);
    } else {
      REQUIRE((*memo)->put(result_under("other")));
      CHECK(*(*memo)->find(result_under("other").key));
    }
    CHECK((*memo)->lost() == path + ": database disk image is malformed; moved to " + path +
                                 ".unreadable; starting with an empty database");
    check_memo(**memo);
  }
}

TEST_CASE("a ledger recalls results, keeps the last record, and is not cleared by a hit",
          "[contract]") {
  TestFolder folder;
  std::string warning;
  auto ledger = cache::SqliteLedger::open(folder / "ledger.db", warning);
  REQUIRE(ledger);
  REQUIRE((*ledger)->begin_build({0, "2026-01-01T00:00:00Z", "c", "round-1", "jax-1", "", 0, 0}));
  EdgeRecord record{"$work/x", "compile", Outcome::ran, "never built", result_under("k")};
  REQUIRE((*ledger)->record(record));
  record.outcome = Outcome::hit;
  record.reason = "";
  REQUIRE((*ledger)->record(record));
  auto last = (*ledger)->last_record("$work/x");
  REQUIRE(last);
  REQUIRE(*last);
  CHECK((*last)->outcome == Outcome::ran);
  CHECK((*last)->reason == "never built");
  check_same((*last)->result, record.result);
  check_same(**(*ledger)->recall(content_digest("k")), record.result);
  CHECK(*(*ledger)->recall_discovered(record.result.declared_key) == record.result.discovered);
  REQUIRE(
      (*ledger)->end_build("done", {{"lower", {1, 2, 0, 3.5, 1.25}}, {"check", {0, 1, 1, 0, 2}}}));
  auto tallies = (*ledger)->use().steps();
  REQUIRE(tallies);
  CHECK(tallies->at("lower").ran == 1);
  CHECK(tallies->at("lower").spent_seconds == 3.5);
  CHECK(tallies->at("check").failed == 1);
  CHECK((*ledger)->builds().list("c")->front().cached == 3);
  REQUIRE((*ledger)->use().record_pools({{"tpu", {2, 10.5, 42}}}));
  REQUIRE((*ledger)->use().record_pools({{"tpu", {1, 2, 8}}, {"cpu", {1, 3, 0}}}));
  auto uses = (*ledger)->use().nodes();
  REQUIRE(uses);
  CHECK(uses->at("tpu").pods == 3);
  CHECK(uses->at("tpu").chip_seconds == 50);
  CHECK(uses->at("cpu").seconds == 3);

  // Another campaign has no record until it writes one, and the first campaign's record stays.
  REQUIRE((*ledger)->begin_build({0, "2026-01-01T00:00:00Z", "d", "round-1", "jax-1", "", 0, 0}));
  CHECK_FALSE((*ledger)->last_record("$work/x")->has_value());
  REQUIRE((*ledger)->record({"$work/x", "compile", Outcome::ran, "other", result_under("l")}));
  CHECK((**(*ledger)->last_record("$work/x")).reason == "other");
  (*ledger)->set_campaign("c");
  CHECK((**(*ledger)->last_record("$work/x")).reason == "never built");

  auto builds = (*ledger)->builds().list("c");
  REQUIRE(builds);
  REQUIRE(builds->size() == 1);
  CHECK(builds->front().outcome == "done");
  CHECK((*ledger)->builds().edges(builds->front().id)->size() == 1);
  CHECK_FALSE((*ledger)->builds().edge_before("$work/x", 2)->has_value());
}

TEST_CASE("a record is stored once, and found by its round", "[contract]") {
  TestFolder folder;
  std::string warning;
  auto ledger = cache::SqliteLedger::open(folder / "ledger.db", warning);
  REQUIRE(ledger);
  auto add = [&](int64_t before, int round, const std::string& text) {
    auto id = (*ledger)->rounds().add_record({0, before, "c", round, "2026-01-01T00:00:00Z", text});
    REQUIRE(id);
    return *id;
  };
  const int64_t first = add(0, 1, "a");
  CHECK(add(0, 1, "a") == first);
  const int64_t second = add(0, 1, "b");
  CHECK(second != first);
  CHECK(add(first, 2, "x") != add(second, 2, "x"));
  CHECK((*(*ledger)->rounds().last_record("c", 1))->text == "b");
  CHECK((*(*ledger)->rounds().find_record(first))->text == "a");
  CHECK(!*(*ledger)->rounds().find_record(99));
  CHECK(!*(*ledger)->rounds().last_record("d", 1));
  CHECK(*(*ledger)->rounds().campaigns() == std::vector<std::string>{"c"});
}

TEST_CASE("blobs are listed, checked, and know when they were used", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  cache::FolderBlobStore blobs(folder / "blobs", files, Sharing::bytes);
  CHECK(blobs.list()->empty());
  folder.write("a", "bytes");
  REQUIRE(blobs.put_file(folder / "a", content_digest("bytes")));
  folder.write("blobs/ab/half.tmp1.2", "half");
  const std::string path = blobs.path_of(content_digest("bytes"));
  const std::array<timespec, 2> old = {timespec{1000, 0}, timespec{1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), old.data(), 0) == 0);
  auto listed = blobs.list();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().digest == content_digest("bytes"));
  CHECK(listed->front().bytes == 5);
  CHECK(listed->front().used == 1000);
  CHECK(*blobs.check(content_digest("bytes")));
  CHECK(blobs.list()->front().used == 1000);
  CHECK(*blobs.fetch(content_digest("bytes"), folder / "b"));
  CHECK(blobs.list()->front().used > 1000);
  folder.write("blobs/" + path.substr(path.size() - 33), "other");
  CHECK(!*blobs.check(content_digest("bytes")));
  CHECK(!*blobs.contains(content_digest("bytes")));
}

TEST_CASE("a damaged ledger is kept aside, one of another version is left alone", "[contract]") {
  TestFolder folder;
  folder.write("ledger.db", std::string(2000, 'x'));
  for (const char* aside : {"ledger.db.unreadable", "ledger.db.unreadable-2"}) {
    std::string warning;
    REQUIRE(cache::SqliteLedger::open(folder / "ledger.db", warning));
    CHECK(warning.find(aside) != std::string::npos);
    CHECK(fs::file_size(folder / aside) == 2000);
    fs::copy_file(folder / aside, folder / "ledger.db", fs::copy_options::overwrite_existing);
  }
  fs::remove(folder / "ledger.db");
  {
    auto newer = cache::Database::open(folder / "ledger.db", 77, "CREATE TABLE t (x);");
    REQUIRE(newer);
  }
  std::string warning;
  auto ledger = cache::SqliteLedger::open(folder / "ledger.db", warning);
  REQUIRE(!ledger);
  CHECK(ledger.error().message ==
        folder / "ledger.db" + ": schema version 77, but this evolve reads version 1");
  CHECK(!ledger.error().hint.empty());
  CHECK(warning.empty());
}

TEST_CASE("rounds are recorded once for each selection", "[contract]") {
  TestFolder folder;
  std::string warning;
  auto ledger = cache::SqliteLedger::open(folder / "ledger.db", warning);
  REQUIRE(ledger);
  for (const char* text : {"{}", "{}", "{\"round\": 1}"}) {
    REQUIRE((*ledger)->rounds().record_selection("c", {1, "now", text}));
  }
  auto rounds = (*ledger)->rounds().selections("c");
  REQUIRE(rounds);
  REQUIRE(rounds->size() == 1);
  CHECK(rounds->front().selection == "{\"round\": 1}");
}

TEST_CASE("blobs in memory and in a folder", "[contract]") {
  auto check = [](BlobStore& blobs, Files& files, const std::string& a, const std::string& b) {
    REQUIRE(files.write(a, "bytes"));
    CHECK(!*blobs.contains(content_digest("bytes")));
    CHECK(!*blobs.fetch(content_digest("bytes"), b));
    REQUIRE(blobs.put_file(a, content_digest("bytes")));
    REQUIRE(blobs.put_file(a, content_digest("bytes")));
    CHECK(*blobs.contains(content_digest("bytes")));
    REQUIRE(files.remove(a));
    CHECK(*blobs.fetch(content_digest("bytes"), b));
    CHECK(*files.read(b) == "bytes");
    // Writing to a file that was fetched does not change the blob.
    REQUIRE(files.write(b, "other"));
    CHECK(*blobs.fetch(content_digest("bytes"), b));
    CHECK(*files.read(b) == "bytes");
  };
  SECTION("in memory") {
    tests::FakeFiles files;
    tests::FakeBlobs blobs(files);
    check(blobs, files, "a", "b");
  }
  SECTION("in a folder") {
    TestFolder folder;
    world::DiskFiles files;
    cache::FolderBlobStore blobs(folder / "blobs", files);
    check(blobs, files, folder / "a", folder / "b");
  }
}

namespace {

void check_claims(Claims& ours, Claims& theirs) {
  const Digest one = content_digest("1"), two = content_digest("2");
  CHECK(*ours.claim(one));
  CHECK(!*theirs.claim(one));
  CHECK(*theirs.claim(two));
  ours.release(one);
  CHECK(*theirs.claim(one));
  ours.release(one);  // not ours to release
  CHECK(!*ours.claim(one));
}

}  // namespace

TEST_CASE("an action is one process's", "[contract]") {
  TestFolder folder;
  world::FileClaims ours(folder / "claims"), theirs(folder / "claims");
  check_claims(ours, theirs);
  tests::FakeClaims fake, other;
  fake.is_others = [&](const Digest& action) { return other.held.contains(action); };
  other.is_others = [&](const Digest& action) { return fake.held.contains(action); };
  check_claims(fake, other);
}

TEST_CASE("an action is free when its process was killed", "[contract]") {
  TestFolder folder;
  std::array<int, 2> claimed{};
  REQUIRE(::pipe(claimed.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    world::FileClaims claims(folder / "claims");
    auto is_ours = claims.claim(content_digest("1"));
    const char answer = is_ours && *is_ours ? 'y' : 'n';
    (void)!::write(claimed[1], &answer, 1);
    while (true) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(claimed[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  world::FileClaims claims(folder / "claims");
  CHECK(!*claims.claim(content_digest("1")));
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(*claims.claim(content_digest("1")));
}

TEST_CASE("what can be executed can still be when it is placed", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  folder.write("program", "#!/bin/sh\n");
  fs::permissions(folder / "program", fs::perms::owner_exec, fs::perm_options::add);
  for (Sharing sharing : {Sharing::bytes, Sharing::names}) {
    REQUIRE(*files.place(folder / "program", folder / "placed", sharing,
                         content_digest("#!/bin/sh\n")));
    CHECK(::access((folder / "placed").c_str(), X_OK) == 0);
  }
}

TEST_CASE("all names in a folder are listed, sorted", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  folder.write("b", "1");
  folder.write("a", "2");
  folder.write(".ninja_log", "3");
  REQUIRE(files.make_folders(folder / ".evolve/blobs"));
  CHECK(*files.list(folder.path()) == std::vector<std::string>{".evolve", ".ninja_log", "a", "b"});
  CHECK(files.list(folder / "missing").error().code == ErrorCode::external);
  CHECK(!files.read(folder.path()));
}

TEST_CASE("a damaged blob counts as absent and goes away", "[contract]") {
  TestFolder folder;
  world::DiskFiles files;
  cache::FolderBlobStore blobs(folder / "blobs", files);
  REQUIRE(files.write(folder / "a", "bytes"));
  Digest digest = content_digest("bytes");
  REQUIRE(blobs.put_file(folder / "a", digest));
  std::string blob = folder / "blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex().substr(2);
  REQUIRE(fs::exists(blob));
  REQUIRE(files.write(blob, "flipped"));
  CHECK(!*blobs.fetch(digest, folder / "b"));
  CHECK(!fs::exists(folder / "b"));
  CHECK(!fs::exists(blob));
  CHECK(!*blobs.contains(digest));
}
