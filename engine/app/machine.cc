#include "engine/app/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <thread>

#include "engine/core/path.h"
#include "engine/core/text/words.h"
#include "engine/world/files.h"

namespace evolve {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string editor_line(const std::string& file) {
  std::string editor = variable("VISUAL");
  if (editor.empty()) editor = variable("EDITOR");
  if (editor.empty()) editor = "vi";
  editor += ' ';
  append_shell_quoted(file, editor);
  return editor;
}

std::string machine_name() {
  utsname name = {};
  return ::uname(&name) == 0 ? name.nodename : "";
}

std::string cpu_kind() {
  std::string name = "unknown";
  auto text = world::read_file("/proc/cpuinfo");
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    name = line.substr(colon + 1);
    break;
  }
  // The name becomes one word of a command line, so characters that a shell interprets are
  // replaced: "Intel(R) Xeon(R) CPU @ 2.20GHz".
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-';
  };
  std::replace_if(name.begin(), name.end(), std::not_fn(is_plain), ' ');
  std::string out;
  for (const std::string& word : words_in(name)) out += (out.empty() ? "cpu:" : "-") + word;
  return out;
}

double memory_limit(const std::string& groups_file, const std::string& root) {
  std::string group = "/";
  auto listed = world::read_file(groups_file);
  std::istringstream groups(listed ? *listed : "");
  for (std::string line; std::getline(groups, line);) {
    // The line of cgroup v2. A path with ".." leads out of what this process can see.
    if (line.starts_with("0::/") && line.find("..") == std::string::npos) group = line.substr(3);
  }
  double limit = std::numeric_limits<double>::infinity();
  while (true) {
    // If there is no limit, the file says "max" or is missing.
    auto text = world::read_file(root + group + "/memory.max");
    auto bytes = parse_size(text ? text->substr(0, text->find('\n')) : "");
    if (bytes) limit = std::min(limit, *bytes);
    if (group.find_first_not_of('/') == std::string::npos) return limit;
    group.erase(group.rfind('/'));
  }
}

Resources with_memory(Resources given) {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double all = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  given.try_emplace("memory", std::min(all, memory_limit("/proc/self/cgroup", "/sys/fs/cgroup")));
  return given;
}

}  // namespace evolve
