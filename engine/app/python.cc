#include "engine/app/python.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "engine/app/campaign.h"
#include "engine/app/toolchain.h"
#include "engine/world/process/capture.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;

// Returns the last line that the program wrote, without the program's name.
std::string words_of(std::string text, const std::string& program) {
  while (text.ends_with('\n')) text.pop_back();
  if (const size_t line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  const std::string name = program.substr(program.rfind('.') + 1) + ": ";
  if (text.starts_with(name)) text.erase(0, name.size());
  return text;
}

}  // namespace

Result<std::string> run_python(const std::string& program, const std::vector<std::string>& words) {
  const std::string rules = find_rules(fs::current_path().string());
  TRY_ASSIGN(auto toolchain, read_toolchain(find_python(rules), rules));
  std::vector<std::string> command = {toolchain.python, rules, program};
  command.insert(command.end(), words.begin(), words.end());
  const char* path = std::getenv("PATH");
  TRY_ASSIGN(auto ended,
             world::capture(command, {{"PATH", path == nullptr ? "/usr/bin:/bin" : path},
                                      {"PYTHONDONTWRITEBYTECODE", "1"}}));
  if (ended.code == exit_code(ErrorCode::bad_input))
    return bad_input(words_of(std::move(ended.err), program));
  if (ended.code != 0) {
    Error error = external(fmt::format("{} {} exited with {}", rules, program, ended.code));
    error.detail = ended.err;
    return error;
  }
  return std::move(ended.out);
}

}  // namespace evolve
