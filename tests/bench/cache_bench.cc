// A benchmark of the store and its peers, in one run: look-ups in the memo against bare SQLite's,
// and digests of files in the page cache against `xxhsum` and `sha256sum`. Usage:
//
//   cache_bench [RESULTS]      RESULTS: the number of results in the memo (default: 100000)
//
// It works in a folder of its own below $TMPDIR and removes the folder.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cache/memo.h"
#include "cache/sqlite.h"
#include "engine/core/crypto/content.h"
#include "engine/world/disk_files.h"

using namespace evolve;
namespace fs = std::filesystem;

namespace {

constexpr int kRounds = 5;

// Returns the shortest of several runs, in seconds.
double best_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void check(bool is_right, const char* what) {
  if (is_right) return;
  fmt::print(stderr, "cache_bench: {}\n", what);
  std::exit(1);
}

std::vector<Digest> fill(cache::SqliteMemo& memo, int count) {
  std::vector<Digest> keys;
  for (int i = 0; i < count; ++i) {
    ActionResult result;
    result.key = result.declared_key = content_digest(std::to_string(i));
    result.outputs = {content_digest("a" + std::to_string(i)),
                      content_digest("b" + std::to_string(i))};
    result.verdict = "ok";
    result.seconds = 1.5;
    result.paid_by = fmt::format("$work/round-1/v{:04}/case/compile.json", i);
    result.built_at = "2026-01-01T00:00:00Z";
    keys.push_back(result.key);
    check(static_cast<bool>(memo.put(result)), "the memo takes no result");
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937(1));
  return keys;
}

void bench_memo(const fs::path& folder, int count) {
  std::string warning;
  const std::string path = (folder / "memo.db").string();
  auto memo = cache::SqliteMemo::open(path, warning);
  check(static_cast<bool>(memo), "the memo does not open");
  const auto keys = fill(**memo, count);
  double ours = 0;
  auto rate = [&](const char* name, double seconds) {
    const double each = static_cast<double>(count) / seconds;
    if (ours == 0) ours = each;
    fmt::print("{:<28}{:>12.0f} a second{:>8.2f} x\n", name, each, each / ours);
  };
  rate("memo look-ups", best_of([&] {
         for (const Digest& key : keys) {
           auto found = (*memo)->find(key);
           check(found && *found, "a result is not there");
         }
       }));
  auto database = cache::Database::open(path, 1, "");
  check(static_cast<bool>(database), "the memo's file does not open");
  auto select = database->prepare("SELECT result FROM action WHERE key = ?");
  check(static_cast<bool>(select), "no statement");
  rate("bare SQLite, no decoding", best_of([&] {
         for (const Digest& key : keys) {
           auto row = select->bind(1, key).step();
           check(row && *row && !select->text(0).empty(), "a row is not there");
           select->reset();
         }
       }));
}

void bench_digests(const fs::path& folder) {
  constexpr size_t kBytes = size_t{1} << 30;
  const std::string path = (folder / "blob").string();
  {
    std::ofstream file(path, std::ios::binary);
    std::mt19937_64 random(1);
    std::string chunk(size_t{1} << 20, '\0');
    for (size_t i = 0; i < kBytes / chunk.size(); ++i) {
      for (size_t j = 0; j < chunk.size(); j += 4096) chunk[j] = static_cast<char>(random());
      file.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    }
  }
  world::DiskFiles files;
  double ours = 0;
  auto rate = [&](const char* name, double seconds) {
    const double each = static_cast<double>(kBytes) / seconds / 1e9;
    if (ours == 0) ours = each;
    fmt::print("{:<28}{:>12.2f} GB/s    {:>8.2f} x\n", name, each, each / ours);
  };
  rate("digest of a cached file", best_of([&] {
         auto digest = files.digest(path);
         check(digest && *digest, "no digest");
       }));
  for (const char* program : {"xxhsum -H2", "sha256sum"}) {
    const std::string command = fmt::format("{} {} >/dev/null 2>&1", program, path);
    if (std::system(command.c_str()) != 0) continue;
    rate(program, best_of([&] { check(std::system(command.c_str()) == 0, "a peer failed"); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = (fs::temp_directory_path() / "evolve-bench-XXXXXX").string();
  check(::mkdtemp(name.data()) != nullptr, "no folder");
  bench_memo(name, argc > 1 ? std::atoi(argv[1]) : 100'000);
  bench_digests(name);
  std::error_code error;
  fs::remove_all(name, error);
  return 0;
}
