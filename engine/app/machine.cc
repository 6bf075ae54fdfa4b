#include "engine/app/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <thread>

#include "engine/core/path.h"
#include "engine/core/text/words.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

double usable_memory() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double all = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  // If there is no limit, the file says "max" or is missing.
  auto limit = world::read_file("/sys/fs/cgroup/memory.max");
  if (!limit) return all;
  auto bytes = parse_size(limit->substr(0, limit->find('\n')));
  return bytes ? std::min(all, *bytes) : all;
}

}  // namespace

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

Resources with_memory(Resources given) {
  given.try_emplace("memory", usable_memory());
  return given;
}

}  // namespace evolve
