#include "cache/record_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "engine/core/crypto/sha256.h"

namespace evolve::cache {

namespace {

// More files than any real record has, and few enough that a bad record costs little.
constexpr size_t kMostFiles = 10'000;

// Field numbers of build.bazel.remote.execution.v2, remote_execution.proto.
namespace action_result {
constexpr protozero::pbf_tag_type kOutputFiles = 2, kStdoutRaw = 5;
}
namespace output_file {
constexpr protozero::pbf_tag_type kPath = 1, kDigest = 2, kIsExecutable = 4;
}
namespace digest {
constexpr protozero::pbf_tag_type kHash = 1, kSizeBytes = 2;
}

StoredFile decode_file(protozero::pbf_reader message) {
  StoredFile out;
  while (message.next()) {
    if (message.tag_and_type() ==
        protozero::tag_and_type(output_file::kDigest, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader its = message.get_message();
      while (its.next()) {
        switch (its.tag_and_type()) {
          case protozero::tag_and_type(digest::kHash, protozero::pbf_wire_type::length_delimited):
            out.sha256 = its.get_string();
            break;
          case protozero::tag_and_type(digest::kSizeBytes, protozero::pbf_wire_type::varint):
            out.bytes = its.get_int64();
            break;
          default: its.skip();
        }
      }
    } else if (message.tag_and_type() ==
               protozero::tag_and_type(output_file::kIsExecutable,
                                       protozero::pbf_wire_type::varint)) {
      out.is_executable = message.get_bool();
    } else {
      message.skip();
    }
  }
  return out;
}

bool are_sound(const std::vector<StoredFile>& files) {
  return std::all_of(files.begin(), files.end(), [](const StoredFile& file) {
    return file.bytes >= 0 && is_sha256(file.sha256);
  });
}

}  // namespace

std::string encode_record(const StoreEntry& record) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  for (size_t i = 0; i < record.files.size(); ++i) {
    const StoredFile& file = record.files[i];
    protozero::pbf_writer its(message, action_result::kOutputFiles);
    its.add_string(output_file::kPath, fmt::format("outputs/{}", i));
    {
      protozero::pbf_writer its_digest(its, output_file::kDigest);
      its_digest.add_string(digest::kHash, file.sha256);
      // A default value is not written, as in canonical protobuf.
      if (file.bytes != 0) its_digest.add_int64(digest::kSizeBytes, file.bytes);
    }
    if (file.is_executable) its.add_bool(output_file::kIsExecutable, true);
  }
  message.add_string(action_result::kStdoutRaw, record.text);
  return bytes;
}

std::optional<StoreEntry> decode_record(const std::string& bytes) {
  StoreEntry out;
  try {
    protozero::pbf_reader message(bytes);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case protozero::tag_and_type(action_result::kOutputFiles,
                                     protozero::pbf_wire_type::length_delimited):
          out.files.push_back(decode_file(message.get_message()));
          if (out.files.size() > kMostFiles) return std::nullopt;
          break;
        case protozero::tag_and_type(action_result::kStdoutRaw,
                                     protozero::pbf_wire_type::length_delimited):
          out.text = message.get_string();
          break;
        default: message.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return are_sound(out.files) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace evolve::cache
