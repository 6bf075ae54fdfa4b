#include "engine/world/process/sandbox.h"

#include <filesystem>

#include "engine/core/path.h"
#include "engine/world/process/process.h"

namespace evolve::world {

Result<std::string> sandboxed(const std::string& line, std::span<const std::string> writable,
                              const std::map<std::string, std::string>& environment) {
  std::string out = find_program("bwrap", environment);
  if (out.empty()) {
    Error error = external("sandbox: bwrap: not found in PATH");
    error.hint = "install bubblewrap, or remove `sandbox = 1`";
    return error;
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  if (error) return external("sandbox: the current folder: " + error.message());
  auto add = [&](std::initializer_list<std::string_view> words) {
    for (std::string_view word : words) {
      out += ' ';
      append_shell_quoted(word, out);
    }
  };
  add({"--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"});
  add({"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"});
  // The current folder must be visible even if it is in /tmp.
  add({"--ro-bind", here, here});
  for (const std::string& folder : writable) {
    const std::string place = fs::weakly_canonical(folder, error).string();
    add({"--bind", place, place});
  }
  add({"--chdir", here, "/bin/sh", "-c", line});
  return out;
}

}  // namespace evolve::world
