#include "engine/ninja/ninja_logs.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace evolve::ninja {

namespace {

constexpr std::string_view kBuildSignature = "# ninja log v";
constexpr int kOldestVersion = 5;
constexpr int kFirstRapidhash = 7;
constexpr std::string_view kDepsSignature = "# ninjadeps\n";
constexpr uint32_t kDepsVersion = 4;
constexpr uint32_t kDepsFlag = 0x80000000;
// As in Ninja, a log of more lines or records than these is stale if it has over 3 per entry.
constexpr size_t kFewLines = 100;
constexpr size_t kFewRecords = 1000;
constexpr size_t kMostPerEntry = 3;

template <typename Word>
void append_word(std::string& bytes, Word word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

template <typename Word>
Word read_word(std::string_view bytes, size_t at) {
  Word word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

uint64_t murmur_64a(std::string_view text) {
  constexpr uint64_t kSeed = 0xDECAFBADDECAFBAD;
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  uint64_t hash = kSeed ^ (text.size() * kMultiplier);
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t block = read_word<uint64_t>(text, at) * kMultiplier;
    block ^= block >> kShift;
    hash = (hash ^ (block * kMultiplier)) * kMultiplier;
  }
  if (at < text.size()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data() + at, text.size() - at);
    hash = (hash ^ rest) * kMultiplier;
  }
  hash = (hash ^ (hash >> kShift)) * kMultiplier;
  return hash ^ (hash >> kShift);
}

// The two halves of a product of 128 bits.
struct Product {
  uint64_t low, high;
};
Product multiply(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<uint64_t>(product), static_cast<uint64_t>(product >> 64)};
}
uint64_t mix(uint64_t a, uint64_t b) {
  const Product product = multiply(a, b);
  return product.low ^ product.high;
}

uint64_t rapidhash(std::string_view text) {
  constexpr uint64_t kSeed = 0xbdd89aa982704029;
  constexpr std::array<uint64_t, 3> kSecret = {0x2d358dccaa6c78a5, 0x8bb84b93962eacc9,
                                               0x4b33a62ed433d4a3};
  const size_t size = text.size();
  auto word = [&](size_t at) { return read_word<uint64_t>(text, at); };
  auto half = [&](size_t at) { return uint64_t{read_word<uint32_t>(text, at)}; };
  auto byte = [&](size_t at) { return uint64_t{static_cast<unsigned char>(text[at])}; };
  uint64_t seed = kSeed ^ mix(kSeed ^ kSecret[0], kSecret[1]) ^ size;
  uint64_t a = 0, b = 0;
  if (size > 16) {
    size_t at = 0;
    if (size > 48) {
      // Each turn of the loop hashes three lanes of 16 bytes. The rest, of less than 48 bytes, is
      // hashed below.
      std::array<uint64_t, 3> lanes = {seed, seed, seed};
      for (; size - at >= 48; at += 48) {
        for (size_t lane = 0; lane < 3; ++lane) {
          const size_t start = at + 16 * lane;
          lanes[lane] = mix(word(start) ^ kSecret[lane], word(start + 8) ^ lanes[lane]);
        }
      }
      seed = lanes[0] ^ lanes[1] ^ lanes[2];
    }
    if (size - at > 16) {
      seed = mix(word(at) ^ kSecret[2], word(at + 8) ^ seed ^ kSecret[1]);
      if (size - at > 32) seed = mix(word(at + 16) ^ kSecret[2], word(at + 24) ^ seed);
    }
    a = word(size - 16);
    b = word(size - 8);
  } else if (size >= 4) {
    const size_t delta = size >= 8 ? 4 : 0;
    a = half(0) << 32 | half(size - 4);
    b = half(delta) << 32 | half(size - 4 - delta);
  } else if (size > 0) {
    a = byte(0) << 56 | byte(size / 2) << 32 | byte(size - 1);
  }
  const Product last = multiply(a ^ kSecret[1], b ^ seed);
  return mix(last.low ^ kSecret[0] ^ size, last.high ^ kSecret[1]);
}

// Takes the text before the next `separator` off the front. False: no separator.
bool take_field(std::string_view& text, char separator, std::string_view& out) {
  const size_t end = text.find(separator);
  if (end == std::string_view::npos) return false;
  out = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

template <typename Number>
bool read_number(std::string_view text, Number& out, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

uint64_t command_hash(int version, std::string_view command) {
  return version < kFirstRapidhash ? murmur_64a(command) : rapidhash(command);
}

bool is_hash_of(uint64_t hash, std::string_view command) {
  return hash == rapidhash(command) || hash == murmur_64a(command);
}

int build_log_version(std::string_view text) {
  std::string_view line;
  int version = 0;
  const bool is_log = take_field(text, '\n', line) && line.starts_with(kBuildSignature) &&
                      read_number(line.substr(kBuildSignature.size()), version);
  return is_log ? version : 0;
}

std::optional<BuildLog> parse_build_log(std::string_view text) {
  BuildLog log;
  log.version = build_log_version(text);
  if (log.version < kOldestVersion || log.version > kBuildLogVersion) return std::nullopt;
  log.is_stale = !text.ends_with('\n');
  std::string_view line;
  take_field(text, '\n', line);
  size_t lines = 0;
  while (take_field(text, '\n', line)) {
    ++lines;
    std::string_view start_text, end_text, mtime_text, output;
    LogEntry entry;
    const bool is_whole =
        take_field(line, '\t', start_text) && take_field(line, '\t', end_text) &&
        take_field(line, '\t', mtime_text) && take_field(line, '\t', output) &&
        read_number(start_text, entry.start) && read_number(end_text, entry.end) &&
        read_number(mtime_text, entry.mtime) && read_number(line, entry.command_hash, 16);
    if (is_whole) log.entries.insert_or_assign(std::string(output), entry);
  }
  if (lines > kFewLines && lines > kMostPerEntry * log.entries.size()) log.is_stale = true;
  return log;
}

std::string line_of(const std::string& output, const LogEntry& entry) {
  return fmt::format("{}\t{}\t{}\t{}\t{:x}\n", entry.start, entry.end, entry.mtime, output,
                     entry.command_hash);
}

std::string encode(const BuildLog& log) {
  std::string out = fmt::format("{}{}\n", kBuildSignature, log.version);
  for (const auto& [output, entry] : log.entries) out += line_of(output, entry);
  return out;
}

std::optional<DepsLog> DepsLog::parse(std::string_view bytes) {
  if (!bytes.starts_with(kDepsSignature) || bytes.size() < kDepsSignature.size() + 4 ||
      read_word<uint32_t>(bytes, kDepsSignature.size()) != kDepsVersion) {
    return std::nullopt;
  }
  bytes.remove_prefix(kDepsSignature.size() + 4);
  DepsLog log;
  size_t records = 0;
  while (bytes.size() >= 4) {
    const auto head = read_word<uint32_t>(bytes, 0);
    const size_t size = head & ~kDepsFlag;
    const bool is_deps = (head & kDepsFlag) != 0;
    if (size + 4 > bytes.size() || size < 4 || size % 4 != 0) break;
    if (!log.add_record(bytes.substr(4, size), is_deps)) break;
    bytes.remove_prefix(4 + size);
    if (is_deps) ++records;
  }
  const bool is_mostly_old =
      records > kFewRecords && records > kMostPerEntry * log.by_output_.size();
  log.is_stale_ = !bytes.empty() || is_mostly_old;
  return log;
}

// Adds a record. False: the record is damaged.
bool DepsLog::add_record(std::string_view record, bool is_deps) {
  if (!is_deps) {
    // The record is a path, padded with NULs, and the complement of the path's number.
    const auto number = static_cast<uint32_t>(paths_.size());
    if (read_word<uint32_t>(record, record.size() - 4) != ~number) return false;
    record.remove_suffix(4);
    while (record.ends_with('\0')) record.remove_suffix(1);
    paths_.emplace_back(record);
    numbers_.insert_or_assign(paths_.back(), number);
    return true;
  }
  if (record.size() < 12) return false;
  const auto output = read_word<uint32_t>(record, 0);
  if (output >= paths_.size()) return false;
  LoggedDeps deps;
  deps.mtime = read_word<int64_t>(record, 4);
  for (size_t at = 12; at < record.size(); at += 4) {
    const auto input = read_word<uint32_t>(record, at);
    if (input >= paths_.size()) return false;
    deps.inputs.push_back(paths_[input]);
  }
  by_output_.insert_or_assign(paths_[output], std::move(deps));
  return true;
}

uint32_t DepsLog::number_of(const std::string& path, std::string& bytes) {
  auto [known, is_new] = numbers_.try_emplace(path, static_cast<uint32_t>(paths_.size()));
  if (!is_new) return known->second;
  paths_.push_back(path);
  const size_t padding = (4 - path.size() % 4) % 4;
  append_word(bytes, static_cast<uint32_t>(path.size() + padding + 4));
  bytes += path;
  bytes.append(padding, '\0');
  append_word(bytes, ~known->second);
  return known->second;
}

std::string DepsLog::add(const std::string& output, LoggedDeps deps) {
  std::string paths, record;
  append_word(record, static_cast<uint32_t>(4 * (3 + deps.inputs.size())) | kDepsFlag);
  append_word(record, number_of(output, paths));
  append_word(record, deps.mtime);
  for (const std::string& input : deps.inputs) append_word(record, number_of(input, paths));
  by_output_.insert_or_assign(output, std::move(deps));
  return paths + record;
}

std::string DepsLog::encode() {
  std::string out(kDepsSignature);
  append_word(out, kDepsVersion);
  DepsLog anew;
  for (const auto& [output, deps] : by_output_) out += anew.add(output, deps);
  *this = std::move(anew);
  return out;
}

const LoggedDeps* DepsLog::find(const std::string& output) const {
  auto found = by_output_.find(output);
  return found == by_output_.end() ? nullptr : &found->second;
}

}  // namespace evolve::ninja
