#include "engine/world/seal.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/core/crypto/sha256.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/world/files.h"

namespace evolve::world {

namespace {

using nlohmann::json;

constexpr uint32_t kMagic = 0x184D2A5E;
constexpr size_t kHead = 8;
constexpr size_t kTail = 13;
constexpr uint64_t kChunk = 1 << 16;
// The maximum size of a frame in bytes. It is enough for the seal of a file of 1 TiB.
constexpr uint64_t kMostFrame = uint64_t{2} << 30;

std::string frame_of(const std::string& format, uint64_t size,
                     const std::vector<std::string>& digests) {
  const std::string text =
      json_line(json{{"format", format}, {"chunk", kChunk}, {"size", size}, {"sha256", digests}});
  const size_t whole = kHead + text.size() + kTail;
  const auto rest = static_cast<uint32_t>(whole - kHead);
  std::string out(kHead, '\0');
  std::memcpy(out.data(), &kMagic, sizeof kMagic);
  std::memcpy(out.data() + sizeof kMagic, &rest, sizeof rest);
  return out + text + fmt::format("{:>12}\n", whole);
}

// Returns the digests of the first `size` bytes, chunk by chunk; fewer if the file ends earlier.
std::vector<std::string> digests_of(std::ifstream& file, uint64_t size) {
  std::vector<std::string> out;
  std::string chunk;
  file.clear();
  file.seekg(0);
  for (uint64_t at = 0; at < size && file; at += kChunk) {
    chunk.resize(std::min(kChunk, size - at));
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    if (file.gcount() != static_cast<std::streamsize>(chunk.size())) break;
    out.push_back(sha256(chunk));
  }
  return out;
}

// Returns the last bytes of the file, which claim to be a frame. Empty: they cannot be a frame.
std::string read_frame(std::ifstream& file, uint64_t file_size) {
  std::string tail(kTail, '\0');
  if (file_size < kHead + kTail) return {};
  file.seekg(static_cast<std::streamoff>(file_size - kTail));
  file.read(tail.data(), kTail);
  const uint64_t whole = std::strtoull(tail.c_str(), nullptr, 10);
  if (!file || whole < kHead + kTail || whole > file_size || whole > kMostFrame) return {};
  std::string frame(whole, '\0');
  file.seekg(static_cast<std::streamoff>(file_size - whole));
  file.read(frame.data(), static_cast<std::streamsize>(whole));
  return file ? frame : std::string();
}

}  // namespace

Status seal(const std::string& path, const std::string& format) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return system_error("stat", path, error.value());
  std::ifstream in(path, std::ios::binary);
  const auto digests = digests_of(in, size);
  if (digests.size() != (size + kChunk - 1) / kChunk) return system_error("read", path, EIO);
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out << frame_of(format, size, digests) << std::flush;
  return out ? Status{} : Status(system_error("write", path, errno));
}

Status check_seal(const std::string& path, const std::string& format) {
  std::error_code error;
  const uint64_t file_size = std::filesystem::file_size(path, error);
  if (error) return system_error("open", path, error.value());
  std::ifstream file(path, std::ios::binary);
  const std::string frame = read_frame(file, file_size);
  const std::string text = frame.empty() ? "" : frame.substr(kHead, frame.size() - kHead - kTail);
  const json all = json_or_null(text);
  const uint64_t size = file_size - frame.size();
  std::vector<std::string> digests;
  if (all.is_object() && all.contains("sha256") && all["sha256"].is_array()) {
    for (const json& digest : all["sha256"]) {
      if (digest.is_string()) digests.push_back(digest.get<std::string>());
    }
  }
  // The frame must be exactly what seal() writes; nothing else in it is accepted.
  if (frame.empty() || frame != frame_of(format, size, digests)) {
    return bad_input(
        fmt::format("{}: not a file of format {}, or the end is damaged", path, format));
  }
  const auto found = digests_of(file, size);
  for (size_t i = 0; i < std::max(found.size(), digests.size()); ++i) {
    if (i < found.size() && i < digests.size() && found[i] == digests[i]) continue;
    return bad_input(fmt::format("{}: bytes {} to {} are damaged", path, i * kChunk,
                                 std::min((i + 1) * kChunk, size) - 1));
  }
  return {};
}

}  // namespace evolve::world
