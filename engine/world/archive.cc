#include "engine/world/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace evolve::world {

namespace {

constexpr size_t kBlock = 1 << 16;

struct FreeReader {
  void operator()(struct archive* archive) const { archive_read_free(archive); }
};
struct FreeWriter {
  void operator()(struct archive* archive) const { archive_write_free(archive); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

Error error_of(struct archive* archive, const std::string& path) {
  const char* why = archive_error_string(archive);
  std::string text = why == nullptr ? "unreadable archive" : why;
  // When a system call fails, libarchive's text says what failed but not why, so the text of errno
  // is added. (EILSEQ means a malformed archive, EINVAL a wrong call.)
  const int number = archive_errno(archive);
  const bool is_system = number > 0 && number != EILSEQ && number != EINVAL;
  if (is_system) text += ": " + std::generic_category().message(number);
  return external(fmt::format("{}: {}", path, text));
}

enum class Others { refused, left_out };  // entries that are not regular files

Status read_entries(const std::string& path, const ArchiveLimits& limits, Others others,
                    const std::function<Status(ArchivedFile)>& visit) {
  const std::unique_ptr<struct archive, FreeReader> reader(archive_read_new());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) {
    return error_of(reader.get(), path);
  }
  size_t total = 0;
  archive_entry* entry = nullptr;
  int code = archive_read_next_header(reader.get(), &entry);
  for (; code == ARCHIVE_OK; code = archive_read_next_header(reader.get(), &entry)) {
    const char* name = archive_entry_pathname(entry);
    ArchivedFile file;
    file.name = name == nullptr ? "" : name;
    const bool is_file =
        archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
    if (!is_file && others == Others::refused) {
      return external(fmt::format("{}: '{}' is not a regular file", path, file.name));
    }
    if (!is_file) continue;
    file.is_executable = (archive_entry_perm(entry) & 0111) != 0;
    std::array<char, kBlock> block;
    la_ssize_t count = archive_read_data(reader.get(), block.data(), block.size());
    for (; count > 0; count = archive_read_data(reader.get(), block.data(), block.size())) {
      total += static_cast<size_t>(count);
      if (total > limits.bytes) {
        return bad_input(fmt::format("{}: larger than {} bytes", path, limits.bytes));
      }
      if (file.bytes.size() + static_cast<size_t>(count) > limits.file_bytes) {
        return bad_input(
            fmt::format("{}: '{}' is larger than {} bytes", path, file.name, limits.file_bytes));
      }
      file.bytes.append(block.data(), static_cast<size_t>(count));
    }
    if (count < 0) return error_of(reader.get(), path);
    TRY(visit(std::move(file)));
  }
  return code == ARCHIVE_EOF ? Status{} : error_of(reader.get(), path);
}

}  // namespace

Status write_archive(const std::string& path,
                     const std::function<Result<std::optional<ArchivedFile>>()>& next) {
  const std::unique_ptr<struct archive, FreeWriter> writer(archive_write_new());
  archive_write_add_filter_zstd(writer.get());
  archive_write_set_format_pax_restricted(writer.get());
  if (archive_write_open_filename(writer.get(), path.c_str()) != ARCHIVE_OK) {
    return error_of(writer.get(), path);
  }
  constexpr mode_t kRead = 0644, kExecute = 0755;
  while (true) {
    TRY_ASSIGN(auto file, next());
    if (!file) break;
    // The header holds nothing about the machine or the time.
    const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), file->name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), file->is_executable ? kExecute : kRead);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file->bytes.size()));
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(writer.get(), entry.get()) != ARCHIVE_OK) {
      return error_of(writer.get(), path);
    }
    const auto written = archive_write_data(writer.get(), file->bytes.data(), file->bytes.size());
    if (written != static_cast<la_ssize_t>(file->bytes.size())) {
      return error_of(writer.get(), path);
    }
  }
  if (archive_write_close(writer.get()) != ARCHIVE_OK) return error_of(writer.get(), path);
  return {};
}

Status read_archive(const std::string& path, const ArchiveLimits& limits,
                    const std::function<Status(ArchivedFile)>& visit) {
  return read_entries(path, limits, Others::refused, visit);
}

Result<std::map<std::string, std::string>> read_archive(const std::string& path,
                                                        size_t most_bytes) {
  std::map<std::string, std::string> files;
  const ArchiveLimits limits{most_bytes, most_bytes};
  auto status = read_entries(path, limits, Others::left_out, [&](ArchivedFile file) -> Status {
    files[file.name] = std::move(file.bytes);
    return {};
  });
  if (!status) return std::move(status).error();
  return files;
}

}  // namespace evolve::world
