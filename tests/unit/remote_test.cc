// Tests of a remote cache: its entries and the requests to it. The server is in memory, and the
// tests control it.
#include "cache/remote.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cache/remote_entry.h"
#include "cache/remote_store.h"
#include "cache/shared_memo.h"
#include "cache/uploads.h"
#include "engine/core/crypto/content.h"
#include "engine/core/crypto/sha256.h"
#include "engine/world/disk_files.h"
#include "tests/catch.h"
#include "tests/fakes.h"
#include "tests/test_folder.h"

using namespace evolve;
using namespace evolve::cache;

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A server that keeps the files that it gets, and counts the requests.
class FakeServer : public Http {
 public:
  std::map<std::string, std::string> stored;  // by URL
  std::vector<size_t> batches;                // requests in each batch
  int status = 0;                             // status of every answer; 0: the correct status
  std::string fault;

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    const std::lock_guard lock(mutex_);
    if (!requests.empty()) batches.push_back(requests.size());
    std::vector<HttpResponse> out;
    for (const HttpRequest& request : requests) {
      out.push_back(fault.empty() && status == 0 ? answer(request)
                                                 : HttpResponse{status, "", false, fault});
    }
    return out;
  }
  void stop() override {}

 private:
  HttpResponse answer(const HttpRequest& request) {
    if (request.method == HttpRequest::Method::put) {
      stored[request.url] = request.file.empty() ? request.body : file_text(request.file);
      return {201, "", false, ""};
    }
    auto found = stored.find(request.url);
    if (found == stored.end()) return {404, "", false, ""};
    if (request.method == HttpRequest::Method::head) return {200, "", false, ""};
    if (static_cast<int64_t>(found->second.size()) > request.most_bytes) {
      return {200, "", true, ""};
    }
    if (request.file.empty()) return {200, found->second, false, ""};
    std::ofstream(request.file, std::ios::binary) << found->second;
    return {200, "", false, ""};
  }

  std::mutex mutex_;
};

const RemoteAddress kAddress = *RemoteAddress::parse("http://cache");

// One machine that uses the cache.
struct Machine {
  explicit Machine(FakeServer& server) : remote(server, blobs, files, folder / "in", kAddress) {}

  // Returns a result with one output that contains `text`. The output's blob is in this machine's
  // blob store.
  ActionResult made(const std::string& text) {
    REQUIRE(files.write(folder / "made", text));
    const Digest digest = content_digest(text);
    REQUIRE(blobs.put_file(folder / "made", digest));
    ActionResult result;
    result.key = result.declared_key = content_digest("key of " + text);
    result.outputs = {digest};
    result.seconds = 2;
    result.paid_by = text;
    return result;
  }

  tests::TestFolder folder;
  world::DiskFiles files;
  FolderBlobStore blobs{folder / "blobs", files};
  RemoteCache remote;
};

// Stores one result for each text; returns the keys.
std::vector<Digest> store(FakeServer& server, const std::vector<std::string>& texts) {
  Machine machine(server);
  Uploads uploads(server, machine.blobs, kAddress);
  std::vector<Digest> keys;
  for (const std::string& text : texts) {
    auto result = machine.made(text);
    keys.push_back(result.key);
    uploads.offer(result, {});
  }
  auto counts = uploads.finish();
  CHECK(counts.stored == static_cast<int64_t>(texts.size()));
  CHECK(counts.unstored == 0);
  return keys;
}

}  // namespace

TEST_CASE("an entry comes back as it was, and is no entry of another key") {
  ActionResult result;
  result.key = content_digest("key");
  result.outputs = {content_digest("a"), content_digest("")};
  result.output = "said \xff";
  const RemoteEntry entry = {result, {{sha256("a"), 1, true}, {sha256(""), 0, false}}, {}};
  const std::string bytes = encode_entry(result.key, entry);
  std::string why;
  auto back = decode_entry(result.key, bytes, why);
  REQUIRE(back);
  CHECK(back->files == entry.files);
  CHECK(back->result->outputs == result.outputs);
  CHECK_FALSE(decode_entry(content_digest("other"), bytes, why));
  CHECK(why == "is the entry of a different key");
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_entry(result.key, bytes.substr(0, size), why));
  }
}

TEST_CASE("an entry whose files are not its outputs', or have no SHA-256, is refused") {
  ActionResult result;
  result.key = content_digest("key");
  result.outputs = {content_digest("a")};
  auto decoded = [&](std::vector<StoredFile> files) {
    std::string why;
    return decode_entry(result.key, encode_entry(result.key, {result, std::move(files), {}}), why);
  };
  CHECK(decoded({{sha256("a"), 1, false}}));
  CHECK_FALSE(decoded({}));
  CHECK_FALSE(decoded({{sha256("a"), 1, false}, {sha256("b"), 1, false}}));
  CHECK_FALSE(decoded({{"../../etc/passwd", 1, false}}));
  CHECK_FALSE(decoded({{std::string(64, 'A'), 1, false}}));
  CHECK_FALSE(decoded({{sha256("a"), -1, false}}));
}

TEST_CASE("an entry is the message that Bazel's servers know") {
  ActionResult result;
  result.key = content_digest("key");
  result.outputs = {content_digest("a")};
  const std::string bytes = encode_entry(result.key, {result, {{sha256("a"), 1, true}}, {}});
  // output_files = 2 { path = 1, digest = 2 { hash = 1, size_bytes = 2 }, is_executable = 4 }
  const std::string file = "\x0a\x09outputs/0\x12\x44\x0a\x40" + sha256("a") + "\x10\x01\x20\x01";
  CHECK(bytes.starts_with("\x12" + std::string(1, static_cast<char>(file.size())) + file));
}

TEST_CASE("what one machine stores another has, asked for in two goes") {
  FakeServer server;
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back("text " + std::to_string(i));
  const auto keys = store(server, texts);
  Machine machine(server);
  server.batches.clear();
  REQUIRE(machine.remote.foresee(keys));
  CHECK(server.batches == std::vector<size_t>{100, 100});
  for (size_t i = 0; i < keys.size(); ++i) {
    auto result = machine.remote.find(keys[i]);
    REQUIRE(result);
    REQUIRE(*result);
    CHECK((*result)->paid_by == texts[i]);
    CHECK(*machine.blobs.check(content_digest(texts[i])));
  }
  CHECK(server.batches.size() == 2);
  CHECK(machine.remote.counts().taken == 100);
}

TEST_CASE("a blob that does not match its digest is refused, and what needs it is not there") {
  FakeServer server;
  const auto keys = store(server, {"first", "second"});
  server.stored["http://cache/cas/" + sha256("first")] = "worst";
  Machine machine(server);
  REQUIRE(machine.remote.foresee(keys));
  CHECK_FALSE(*machine.remote.find(keys[0]));
  CHECK(*machine.remote.find(keys[1]));
  CHECK_FALSE(*machine.blobs.contains(content_digest("first")));
  CHECK_FALSE(*machine.blobs.contains(content_digest("worst")));
  CHECK(machine.remote.counts().refused == 1);
  // A machine that makes the result again replaces the damaged entry.
  Uploads uploads(server, machine.blobs, kAddress);
  uploads.offer(machine.made("first"), machine.remote.damaged());
  CHECK(uploads.finish().stored == 1);
  CHECK(server.stored["http://cache/cas/" + sha256("first")] == "first");
}

TEST_CASE("a server that fails gets no more requests") {
  FakeServer server;
  const auto keys = store(server, {"first", "second"});
  server.status = GENERATE(500, 403, 302, 0);
  if (server.status == 0) server.fault = "timed out";
  Machine machine(server);
  server.batches.clear();
  CHECK_FALSE(*machine.remote.find(keys[0]));
  CHECK_FALSE(*machine.remote.find(keys[1]));
  CHECK(server.batches.size() == 1);
  CHECK_FALSE(machine.remote.counts().fault.empty());
  Uploads uploads(server, machine.blobs, kAddress);
  uploads.offer(machine.made("third"), {});
  CHECK(uploads.finish().unstored == 1);
  const size_t asked = server.batches.size();
  uploads.offer(machine.made("fourth"), {});
  CHECK(uploads.finish().unstored == 2);
  CHECK(server.batches.size() == asked);
}

TEST_CASE("a result with a folder or a missing file among its outputs stays here") {
  FakeServer server;
  Machine machine(server);
  Uploads uploads(server, machine.blobs, kAddress);
  auto result = machine.made("text");
  result.outputs.push_back(GENERATE(missing_digest(), folder_digest()));
  uploads.offer(result, {});
  CHECK(uploads.finish().stored == 0);
  CHECK(server.stored.empty());
}

TEST_CASE("what a run discovered is found under its declared key") {
  FakeServer server;
  Machine writer(server);
  auto result = writer.made("text");
  result.key = content_digest("with the header");
  result.discovered = {"header.h"};
  Uploads uploads(server, writer.blobs, kAddress);
  uploads.offer(result, {});
  CHECK(uploads.finish().stored == 1);
  Machine reader(server);
  CHECK_FALSE(*reader.remote.find(result.declared_key));
  CHECK(*reader.remote.discovered(result.declared_key) == result.discovered);
  CHECK(*reader.remote.find(result.key));
}

TEST_CASE("an entry that is nested deep, or has control characters, is refused") {
  const Digest key = content_digest("key");
  auto decoded = [&](const std::string& fields) {
    const std::string text =
        "{\"format\":\"evolve-entry-1\",\"key\":\"" + key.hex() + "\"," + fields + "}";
    std::string size;
    for (size_t rest = text.size();; rest >>= 7) {
      size += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
      if (rest <= 0x7f) break;
    }
    std::string why;
    return decode_entry(key, "\x2a" + size + text, why).has_value();
  };
  CHECK(decoded(R"("discovered":["a.h"])"));
  CHECK_FALSE(decoded(R"("discovered":["a\nb.h"])"));
  CHECK_FALSE(decoded(R"("discovered":[""])"));
  CHECK_FALSE(decoded("\"discovered\":[\"" + std::string(5000, 'x') + "\"]"));
  CHECK(decoded(R"("result":{"outputs":[],"seconds":1,"built_on":"here"})"));
  CHECK_FALSE(decoded(R"("result":{"outputs":[],"seconds":1,"built_on":"\u001b[2J"})"));
  const std::string deep(300'000, '[');
  CHECK_FALSE(decoded("\"result\":{\"x\":" + deep + std::string(deep.size(), ']') + "}"));
}

TEST_CASE("a damaged blob is not stored elsewhere") {
  FakeServer server;
  Machine machine(server);
  auto result = machine.made("text");
  const std::string blob = machine.blobs.path_of(result.outputs[0]);
  REQUIRE(machine.files.remove(blob));
  machine.folder.write("blobs/" + blob.substr((machine.folder / "blobs/").size()), "other");
  Uploads uploads(server, machine.blobs, kAddress);
  uploads.offer(result, {});
  CHECK(uploads.finish().unstored == 1);
  CHECK(server.stored.empty());
}

TEST_CASE("a remote cache's entry of another action is not stored") {
  FakeServer server;
  Machine writer(server);
  auto result = writer.made("text");
  result.declared_key = content_digest("some other action");
  result.discovered = {"header.h"};
  Uploads uploads(server, writer.blobs, kAddress);
  uploads.offer(result, {});
  REQUIRE(uploads.finish().stored == 1);
  Machine reader(server);
  tests::FakeMemo memo;
  tests::FakeLedger ledger;
  SharedMemo shared(memo, ledger, reader.blobs, reader.remote, nullptr);
  CHECK_FALSE(*shared.find(result.key));
  CHECK(memo.results.empty());
  // A look-up of that action's discovered inputs finds the entry.
  CHECK(*shared.discovered(result.declared_key) == result.discovered);
  CHECK(*shared.find(result.key));
}

// The tests that follow are of the store that we share with nodes. Unlike a cache, this store must
// work.

namespace {

struct Sharer {
  explicit Sharer(FakeServer& server)
      : store(server, files, kAddress, {[this](double seconds) { pauses.push_back(seconds); }}) {}

  std::string file(const std::string& name, const std::string& text) {
    REQUIRE(files.write(folder / name, text));
    return folder / name;
  }

  tests::TestFolder folder;
  world::DiskFiles files;
  std::vector<double> pauses;
  RemoteStore store;
};

int count_of(const FakeServer& server, const std::string& text) {
  int count = 0;
  for (const auto& [url, body] : server.stored) count += body == text ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE(
    "a file that is shared is sent once, and comes back with its bytes and its right to run") {
  FakeServer server;
  Sharer one(server), other(server);
  const std::string path = one.file("program", "#!/bin/sh\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const std::vector<std::string> paths = {path, one.file("twin", "#!/bin/sh\n"),
                                          one.file("b", "b")};
  auto put = one.store.put(paths);
  REQUIRE(put);
  REQUIRE(put->size() == 3);
  CHECK((*put)[0].sha256 == (*put)[1].sha256);
  CHECK((*put)[0].is_executable);
  CHECK_FALSE((*put)[1].is_executable);
  CHECK(server.stored.size() == 2);

  server.batches.clear();
  REQUIRE(one.store.put(paths));
  CHECK(server.batches.empty());

  const std::vector<WantedFile> wanted = {{(*put)[0], other.folder / "got"},
                                          {(*put)[2], other.folder / "got-b"}};
  REQUIRE(other.store.fetch(wanted));
  CHECK(file_text(other.folder / "got") == "#!/bin/sh\n");
  CHECK(file_text(other.folder / "got-b") == "b");
  CHECK((std::filesystem::status(other.folder / "got").permissions() &
         std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
}

TEST_CASE("a file that another has already put there is not sent again") {
  FakeServer server;
  Sharer one(server), other(server);
  REQUIRE(one.store.put(std::vector{one.file("a", "same")}));
  server.batches.clear();
  REQUIRE(other.store.put(std::vector{other.file("a", "same")}));
  CHECK(server.batches == std::vector<size_t>{1});  // only the look-up
  CHECK(count_of(server, "same") == 1);
}

TEST_CASE("a shared file that is damaged, cut or gone is reported, and is not used") {
  FakeServer server;
  Sharer one(server);
  auto put = one.store.put(std::vector{one.file("a", "what it is")});
  REQUIRE(put);
  auto& stored = server.stored.begin()->second;
  const std::vector<WantedFile> wanted = {{put->front(), one.folder / "got"}};
  for (const char* bad : {"what it iS", "what", "what it is and more"}) {
    stored = bad;
    auto fetched = one.store.fetch(wanted);
    REQUIRE_FALSE(fetched);
    CHECK(fetched.error().code == ErrorCode::failed);
    CHECK(fetched.error().message.find("does not match its digest") != std::string::npos);
  }
  server.stored.clear();
  auto fetched = one.store.fetch(wanted);
  REQUIRE_FALSE(fetched);
  CHECK(fetched.error().code == ErrorCode::failed);
  CHECK(one.pauses.empty());
}

TEST_CASE("a server that stays away is asked for a while, and then is an error of the world") {
  FakeServer server;
  Sharer one(server);
  server.fault = "could not connect";
  auto put = one.store.put(std::vector{one.file("a", "a")});
  REQUIRE_FALSE(put);
  CHECK(put.error().code == ErrorCode::external);
  CHECK(one.pauses.size() == 4);
}

TEST_CASE("a record is found under its name, and other files are not records") {
  FakeServer server;
  Sharer one(server);
  const std::string name = sha256("order"), other = sha256("another");
  const StoreEntry record = {{{sha256("a"), 1, true}}, "text \xff"};
  REQUIRE(one.store.put_entry(name, record));
  auto found = one.store.records(std::vector{name, other});
  REQUIRE(found);
  REQUIRE((*found)[0]);
  CHECK((*found)[0]->files == record.files);
  CHECK((*found)[0]->text == record.text);
  CHECK_FALSE((*found)[1]);

  const std::string whole = server.stored.begin()->second;
  server.stored.begin()->second = whole.substr(0, whole.size() / 2);
  auto cut = one.store.records(std::vector{name});
  REQUIRE(cut);
  CHECK((!(*cut)[0] || (*cut)[0]->text != record.text));
}
