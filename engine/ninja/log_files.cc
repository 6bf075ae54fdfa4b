#include "engine/ninja/log_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "engine/ninja/messages.h"

namespace evolve::ninja {

int64_t modification_time(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return 0;
  return int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
}

LogFiles::LogFiles(Files& files, std::string_view builddir) : files_(files), folder_(builddir) {
  const std::string before = folder_.empty() ? "" : folder_ + "/";
  build_.path = before + ".ninja_log";
  deps_.path = before + ".ninja_deps";
}

bool LogFiles::load() {
  auto text = files_.read(build_.path);
  auto log = text ? parse_build_log(*text) : std::nullopt;
  const bool is_read = log.has_value();
  if (text && !text->empty() && !log) {
    print_warning(fmt::format("build log version is too {}; starting over",
                              build_log_version(*text) < kBuildLogVersion ? "old" : "new"));
  }
  if (log) {
    log_ = *std::move(log);
    build_.is_there = !log_.is_stale;
  }
  auto bytes = files_.read(deps_.path);
  auto deps = bytes ? DepsLog::parse(*bytes) : std::nullopt;
  if (deps) {
    deps_log_ = *std::move(deps);
    deps_.is_there = !deps_log_.is_stale();
  }
  return is_read;
}

const LogEntry* LogFiles::entry(const std::string& output) const {
  auto found = log_.entries.find(output);
  return found == log_.entries.end() ? nullptr : &found->second;
}

void LogFiles::add(const std::string& output, const LogEntry& entry) {
  log_.entries.insert_or_assign(output, entry);
  build_.unwritten += line_of(output, entry);
}

void LogFiles::add(const std::string& output, LoggedDeps deps) {
  deps_.unwritten += deps_log_.add(output, std::move(deps));
}

Status LogFiles::flush() {
  if (build_.unwritten.empty() && deps_.unwritten.empty()) return {};
  const bool is_torn = !build_.is_there || (!deps_.is_there && !deps_.unwritten.empty());
  if (is_torn) return rewrite();
  TRY(append(build_));
  return append(deps_);
}

Status LogFiles::append(Appended& file) {
  if (file.unwritten.empty()) return {};
  if (!file.out.is_open()) file.out.open(file.path, std::ios::app | std::ios::binary);
  file.out << file.unwritten << std::flush;
  if (!file.out) return external(fmt::format("cannot append to '{}'", file.path));
  file.unwritten.clear();
  return {};
}

Status LogFiles::rewrite() {
  if (!folder_.empty()) {
    TRY(files_.make_folders(folder_));
  }
  for (auto [file, whole] :
       {std::pair(&build_, encode(log_)), std::pair(&deps_, deps_log_.encode())}) {
    file->out.close();
    file->unwritten.clear();
    TRY(files_.write(file->path, whole));
    file->is_there = true;
  }
  return {};
}

}  // namespace evolve::ninja
