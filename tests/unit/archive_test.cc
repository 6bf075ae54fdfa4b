// Tests of archives and seals: which files they refuse.
#include "engine/world/archive.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/app/campaign_report.h"
#include "engine/app/state.h"
#include "engine/core/crypto/content.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/record.h"
#include "engine/replay/bundle.h"
#include "engine/replay/bundle_reader.h"
#include "engine/replay/judge.h"
#include "engine/report/campaign_text.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"
#include "engine/world/seal.h"
#include "tests/catch.h"
#include "tests/test_folder.h"

using namespace evolve;
using tests::TestFolder;
using world::ArchivedFile;

namespace {

Status write(const std::string& path, std::vector<ArchivedFile> files) {
  size_t next = 0;
  return world::write_archive(path, [&]() -> Result<std::optional<ArchivedFile>> {
    if (next == files.size()) return std::optional<ArchivedFile>{};
    return std::optional(files[next++]);
  });
}

std::string error_of(const std::string& path, const world::ArchiveLimits& limits) {
  auto status = world::read_archive(path, limits, [](const ArchivedFile&) { return Status{}; });
  return status ? "" : status.error().message;
}

}  // namespace

TEST_CASE("SHA-256 is the standard's") {
  // The texts are the example of FIPS 180-2, appendix B.1, and the empty text.
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("an archive gives back its files, and is the same bytes each time") {
  TestFolder folder;
  const std::vector<ArchivedFile> files = {{"a", "one", false},
                                           {"b/c", std::string(100'000, 'x'), true}};
  REQUIRE(write(folder / "1", files));
  REQUIRE(write(folder / "2", files));
  CHECK(*world::read_file(folder / "1") == *world::read_file(folder / "2"));
  std::vector<ArchivedFile> read;
  REQUIRE(world::read_archive(folder / "1", {1 << 20, 1 << 20}, [&](ArchivedFile file) {
    read.push_back(std::move(file));
    return Status{};
  }));
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == "a");
  CHECK(read[0].bytes == "one");
  CHECK(!read[0].is_executable);
  CHECK(read[1].bytes == files[1].bytes);
  CHECK(read[1].is_executable);
}

TEST_CASE("an archive that grows beyond its limits is refused") {
  TestFolder folder;
  // The archive has less than 4 KiB, but its files have eight megabytes.
  REQUIRE(write(folder / "bomb", {{"a", std::string(4 << 20, '\0'), false},
                                  {"b", std::string(4 << 20, '\0'), false}}));
  CHECK(world::read_file(folder / "bomb")->size() < 4096);
  CHECK(error_of(folder / "bomb", {8 << 20, 8 << 20}).empty());
  CHECK(error_of(folder / "bomb", {1 << 20, 8 << 20}).find("'a' is larger than 1048576 bytes") !=
        std::string::npos);
  CHECK(error_of(folder / "bomb", {8 << 20, 7 << 20}).find("larger than 7340032 bytes") !=
        std::string::npos);
}

TEST_CASE("a seal tells where a file was changed") {
  TestFolder folder;
  const std::string path = folder / "sealed";
  for (size_t size : {size_t{0}, size_t{1}, size_t{1 << 16}, size_t{200'000}}) {
    CAPTURE(size);
    std::string bytes(size, 'a');
    folder.write("sealed", bytes);
    REQUIRE(world::seal(path, "test-1"));
    CHECK(world::check_seal(path, "test-1"));
    CHECK(!world::check_seal(path, "test-2"));
    bytes = *world::read_file(path);
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 50) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      folder.write("sealed", changed);
      CHECK(!world::check_seal(path, "test-1"));
    }
    folder.write("sealed", bytes + "x");
    CHECK(!world::check_seal(path, "test-1"));
  }
  std::string bytes = *world::read_file(path);
  folder.write("sealed", std::string(200'000, 'a'));
  REQUIRE(world::seal(path, "test-1"));
  bytes = *world::read_file(path);
  bytes[70'000] = 'b';
  folder.write("sealed", bytes);
  CHECK(world::check_seal(path, "test-1").error().message ==
        path + ": bytes 65536 to 131071 are damaged");
}

namespace {

// Writes a sealed bundle file of one round. The round's record has the digest of the selection
// `named`, but the file contains the selection `told`.
void write_bundle(const std::string& path, const std::string& named, const std::string& told) {
  using nlohmann::json;
  Record record;
  record.toolchain = "none";
  RecordedStep step;
  step.step = "select";
  step.subject = "round-1";
  step.key = content_digest("key");
  step.outputs = {{"$work/round-1/selection.json", content_digest(named)}};
  Record first = record;
  record.steps = {step};
  const json records = {
      {{"round", 0}, {"recorded", "2026"}, {"text", encode(first)}, {"selection", nullptr}},
      {{"round", 1}, {"recorded", "2026"}, {"text", encode(record)}, {"selection", told}}};
  std::vector<ArchivedFile> files = {
      {"", "", false},
      {kBundleRecords, records.dump(), false},
      {kBundleResults, "[]", false},
      {std::string(kBundleBlobs) + content_digest(named).hex(), named, false}};
  json listed = json::object();
  for (const ArchivedFile& file : files) {
    if (file.name.empty()) continue;
    listed[file.name] = {
        {"size", file.bytes.size()}, {"sha256", sha256(file.bytes)}, {"executable", false}};
  }
  const json index = {{"format", kBundleFormat}, {"campaign", "a"}, {"files", listed}};
  files[0] = {kBundleIndex, index.dump(), false};
  REQUIRE(write(path, files));
  REQUIRE(world::seal(path, kBundleFormat));
}

constexpr const char* kSelection = R"({"round": 1, "best": null})";
constexpr const char* kOther = R"({"round": 1, "best": {"variant": "v0004", "score": 99.5}})";

}  // namespace

TEST_CASE("a bundle gives no selection but the one that its record names") {
  TestFolder folder;
  world::DiskFiles files;
  write_bundle(folder / "honest", kSelection, kSelection);
  CHECK(read_bundle(folder / "honest", files, folder / "scratch"));
  write_bundle(folder / "lie", kSelection, kOther);
  auto bundle = read_bundle(folder / "lie", files, folder / "scratch");
  REQUIRE(!bundle);
  CHECK(bundle.error().code == ErrorCode::bad_input);
  CHECK(bundle.error().message ==
        folder / "lie: round 1: the selection differs from the selection in the record");
}

TEST_CASE("a bundle leaves the selections that are recorded here") {
  TestFolder folder;
  std::string warning;
  const std::string path = folder / "a.evolve";
  write_bundle(path, kSelection, kSelection);
  CampaignFlags options;
  options.campaign.state = folder / "state";
  {
    auto state = open_state(folder / "state", Sharing::names, warning);
    REQUIRE(state);
    REQUIRE((*state)->ledger->rounds().record_selection("a", {1, "2026", kOther}));
  }
  BundleRequest request;
  request.path = path;
  auto answer = import_bundle(options, request);
  REQUIRE(!answer);
  CHECK(answer.error().message ==
        path + ": round-1 of 'a' is already recorded with another selection");
  CHECK(answer.error().hint.starts_with("use another --state FOLDER"));
  auto state = open_state(folder / "state", Sharing::names, warning);
  REQUIRE(state);
  auto rounds = (*state)->ledger->rounds().selections("a");
  REQUIRE(rounds);
  REQUIRE(rounds->size() == 1);
  CHECK(rounds->front().selection == kOther);
  request.as = "..";
  CHECK(!import_bundle(options, request));
}

TEST_CASE("an imported round's judge runs where it is this version's, or was asked for") {
  TestFolder folder;
  std::string warning;
  auto state = open_state(folder / "state", Sharing::names, warning);
  REQUIRE(state);
  auto& ledger = *(*state)->ledger;
  PastRound past;
  for (int i = 0; i < 7; ++i)
    past.record.sources.push_back({fmt::format("$steps/none{}", i), content_digest("theirs")});
  past.record.sources.push_back({"kernels/a.py", content_digest("theirs")});
  past.stored = {0, 0, "a", 1, "2026", encode(past.record)};

  auto id = ledger.rounds().add_record(past.stored, cache::RecordOrigin::imported);
  REQUIRE(id);
  past.stored.id = *id;
  auto judge = choose_judge(past, **state, false);
  REQUIRE(!judge);
  CHECK(judge.error().code == ErrorCode::bad_input);
  CHECK(judge.error().message ==
        "round-1 of a: was imported, and its judge differs from this version's: $steps/none0, "
        "$steps/none1, $steps/none2, $steps/none3, $steps/none4 and 2 more");
  CHECK(judge.error().hint.starts_with("--their-judge"));
  judge = choose_judge(past, **state, true);
  REQUIRE(judge);
  CHECK(judge->judge == Judge::theirs);
  CHECK(judge->warning.starts_with("round-1 of a: was imported"));

  REQUIRE(ledger.rounds().record_selection("a", {1, "2026", kSelection}));
  auto rounds = rounds_report("a", ledger.rounds());
  REQUIRE(rounds);
  CHECK(rounds->at(0).value("imported", false));
  CHECK(rounds_text(*rounds).find(", imported") != std::string::npos);

  // A local build that makes the same record changes the record's origin to `own`. A later import
  // does not change the origin.
  for (cache::RecordOrigin origin : {cache::RecordOrigin::own, cache::RecordOrigin::imported}) {
    REQUIRE(*ledger.rounds().add_record(past.stored, origin) == *id);
    judge = choose_judge(past, **state, false);
    REQUIRE(judge);
    CHECK(judge->judge == Judge::recorded);
    CHECK(judge->warning.empty());
    rounds = rounds_report("a", ledger.rounds());
    REQUIRE(rounds);
    CHECK(!rounds->at(0).contains("imported"));
  }
}

TEST_CASE("the differences of a judge are named, wherever a record has them") {
  TestFolder folder;
  world::DiskFiles files;
  std::filesystem::create_directories(folder / "own");
  folder.write("own/a.py", "a");
  folder.write("own/b.py", "b");
  const std::vector<MachineBinding> own = {{"rules", folder / "own"}, {"steps", folder / "own"}};
  Record record;
  record.sources = {{"$rules/a.py", content_digest("a")},
                    {"$rules/b.py", content_digest("changed")},
                    {"$steps/new", content_digest("new")},
                    {"rules/a.py", content_digest("over it")},
                    {"kernels/a.py", content_digest("a kernel")}};
  auto differing = differing_judge(record, own, files);
  REQUIRE(differing);
  CHECK(*differing == std::vector<std::string>{"$rules/b.py", "$steps/new", "$rules/a.py"});
}
