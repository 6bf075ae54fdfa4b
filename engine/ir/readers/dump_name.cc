#include "engine/ir/readers/dump_name.h"

#include <algorithm>
#include <charconv>

namespace evolve::ir {

namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// Splits "gmm.1-62-packed-bundles-post-ra.txt" at the number between module and stage. Both the
// module and the stage may have dashes. A module's name that was cut ends with a number itself
// (cut_names.h), so the last of successive numbers counts.
std::optional<DumpName> split(std::string_view rest) {
  for (size_t at = rest.find('-'); at != std::string_view::npos; at = rest.find('-', at + 1)) {
    size_t end = rest.find('-', at + 1);
    if (end == std::string_view::npos) break;
    const bool is_last = end + 1 < rest.size() && kDigits.find(rest[end + 1]) == kDigits.npos;
    if (is_last && is_number(rest.substr(at + 1, end - at - 1)))
      return DumpName{0, std::string(rest.substr(0, at)), std::string(rest.substr(end + 1))};
  }
  const std::string own = std::string(kTopLevel) + "-";
  if (!rest.starts_with(own)) return std::nullopt;
  return DumpName{0, std::string(kTopLevel), std::string(rest.substr(own.size()))};
}

}  // namespace

std::optional<DumpName> read_dump_name(std::string_view path) {
  if (!path.ends_with(".txt") && !path.ends_with(".html")) return std::nullopt;
  size_t slash = path.rfind('/');
  std::string_view file = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  std::optional<DumpName> name;
  size_t dash = file.find('-');
  if (dash != std::string_view::npos && is_number(file.substr(0, dash))) {
    name = split(file.substr(dash + 1));
    if (name) std::from_chars(file.data(), file.data() + dash, name->stamp);
  } else if (name = split(file); name) {
    // The dump has no time stamp.
  } else if (slash != std::string_view::npos) {
    std::string_view folder = path.substr(0, slash);
    folder.remove_prefix(folder.rfind('/') + 1);  // npos + 1 is 0
    name = DumpName{0, std::string(folder), std::string(file)};
  }
  if (!name || name->module.empty() || name->module.starts_with('<')) return std::nullopt;
  return name;
}

std::vector<DumpPaths> group_dumps(const std::vector<std::string>& paths) {
  struct Dump {
    DumpName name;
    const std::string* path;
  };
  std::vector<Dump> dumps;
  for (const std::string& path : paths) {
    if (auto name = read_dump_name(path)) dumps.push_back({*std::move(name), &path});
  }
  std::stable_sort(dumps.begin(), dumps.end(),
                   [](const Dump& a, const Dump& b) { return a.name.stamp < b.name.stamp; });
  std::vector<DumpPaths> programs;
  uint64_t last = 0;  // stamp of the program's own dumps
  for (const Dump& dump : dumps) {
    bool is_next = dump.name.module == kTopLevel && dump.name.stamp != last;
    if (is_next) last = dump.name.stamp;
    if (is_next || programs.empty()) programs.emplace_back();
    programs.back().emplace(dump.name.module + "/" + dump.name.stage, *dump.path);
  }
  return programs;
}

}  // namespace evolve::ir
