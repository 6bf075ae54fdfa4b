#include "engine/ninja/ninja_logs.h"

#include <array>
#include <charconv>
#include <cstring>

namespace evolve::ninja {

namespace {

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
      // Three lanes of sixteen bytes; a last whole turn is left to the tail below only if it is
      // short.
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

// Takes the text before the next `separator` off the front; false: there is none.
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

bool is_hash_of(uint64_t hash, std::string_view command) {
  return hash == rapidhash(command) || hash == murmur_64a(command);
}

std::optional<BuildLog> parse_build_log(std::string_view text) {
  constexpr std::string_view kSignature = "# ninja log v";
  std::string_view line;
  int version = 0;
  if (!take_field(text, '\n', line) || !line.starts_with(kSignature) ||
      !read_number(line.substr(kSignature.size()), version) || version < 5 || version > 7) {
    return std::nullopt;
  }
  BuildLog log;
  while (take_field(text, '\n', line)) {
    std::string_view start_text, end_text, mtime_text, output;
    int64_t start = 0, end = 0;
    LogEntry entry;
    const bool is_whole = take_field(line, '\t', start_text) && take_field(line, '\t', end_text) &&
                          take_field(line, '\t', mtime_text) && take_field(line, '\t', output) &&
                          read_number(start_text, start) && read_number(end_text, end) &&
                          read_number(mtime_text, entry.mtime) &&
                          read_number(line, entry.command_hash, 16);
    if (!is_whole) continue;
    entry.seconds_1000 = end - start;
    log.insert_or_assign(std::string(output), entry);
  }
  return log;
}

std::optional<DepsLog> parse_deps_log(std::string_view bytes) {
  constexpr std::string_view kSignature = "# ninjadeps\n";
  constexpr uint32_t kVersion = 4;
  constexpr uint32_t kDepsFlag = 0x80000000;
  if (!bytes.starts_with(kSignature) || bytes.size() < kSignature.size() + 4 ||
      read_word<uint32_t>(bytes, kSignature.size()) != kVersion) {
    return std::nullopt;
  }
  bytes.remove_prefix(kSignature.size() + 4);
  DepsLog log;
  std::vector<std::string> paths;  // by the number that the log gives them
  while (bytes.size() >= 4) {
    const auto head = read_word<uint32_t>(bytes, 0);
    const size_t size = head & ~kDepsFlag;
    bytes.remove_prefix(4);
    if (size > bytes.size() || size < 4 || size % 4 != 0) break;
    std::string_view record = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if ((head & kDepsFlag) == 0) {
      // A path, padded with NULs, and the complement of its number.
      if (read_word<uint32_t>(record, size - 4) != ~static_cast<uint32_t>(paths.size())) break;
      record.remove_suffix(4);
      while (record.ends_with('\0')) record.remove_suffix(1);
      paths.emplace_back(record);
      continue;
    }
    if (size < 12) break;
    const auto output = read_word<uint32_t>(record, 0);
    if (output >= paths.size()) break;
    LoggedDeps deps;
    deps.mtime = read_word<int64_t>(record, 4);
    bool is_whole = true;
    for (size_t at = 12; at < size; at += 4) {
      const auto input = read_word<uint32_t>(record, at);
      is_whole = is_whole && input < paths.size();
      if (is_whole) deps.inputs.push_back(paths[input]);
    }
    if (!is_whole) break;
    log.insert_or_assign(paths[output], std::move(deps));
  }
  return log;
}

}  // namespace evolve::ninja
