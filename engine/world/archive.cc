#include "engine/world/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace evolve::world {

namespace {

struct FreeArchive {
  void operator()(struct archive* archive) const { archive_read_free(archive); }
};

}  // namespace

Result<std::map<std::string, std::string>> read_archive(const std::string& path,
                                                        size_t most_bytes) {
  constexpr size_t kBlock = 1 << 16;
  std::unique_ptr<struct archive, FreeArchive> reader(archive_read_new());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  auto error = [&] {
    const char* why = archive_error_string(reader.get());
    return external(fmt::format("{}: {}", path, why == nullptr ? "unreadable archive" : why));
  };
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) return error();
  std::map<std::string, std::string> files;
  size_t total = 0;
  archive_entry* entry = nullptr;
  int code = archive_read_next_header(reader.get(), &entry);
  for (; code == ARCHIVE_OK; code = archive_read_next_header(reader.get(), &entry)) {
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string& text = files[archive_entry_pathname(entry)];
    std::array<char, kBlock> block;
    la_ssize_t count = archive_read_data(reader.get(), block.data(), block.size());
    for (; count > 0; count = archive_read_data(reader.get(), block.data(), block.size())) {
      total += static_cast<size_t>(count);
      if (total > most_bytes)
        return external(fmt::format("{}: more than {} bytes", path, most_bytes));
      text.append(block.data(), static_cast<size_t>(count));
    }
    if (count < 0) return error();
  }
  if (code != ARCHIVE_EOF) return error();
  return files;
}

}  // namespace evolve::world
