// `evolve`: reads the command line, runs the command, and chooses the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/ledger.h"
#include "cache/memo.h"
#include "engine/app/campaign.h"
#include "engine/app/toolchain.h"
#include "engine/cli/commands.h"
#include "engine/cli/ninja/ninja.h"
#include "engine/core/json_text.h"
#include "engine/core/key.h"
#include "engine/core/key_change.h"
#include "engine/core/record.h"
#include "engine/replay/bundle_reader.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

// Returns the arguments for Ninja's command line, if the program is called `ninja` or its first
// argument is `ninja`; else nullopt.
std::optional<std::vector<std::string>> ninja_arguments(int argc, char** argv) {
  std::string name = argc > 0 ? argv[0] : "";
  if (name.substr(name.rfind('/') + 1) == "ninja") {
    return std::vector<std::string>(argv + 1, argv + argc);
  }
  if (argc > 1 && std::string_view(argv[1]) == "ninja") {
    return std::vector<std::string>(argv + 2, argv + argc);
  }
  return std::nullopt;
}

// Returns the versions of this program, of what it writes, and of the packages that its steps use.
nlohmann::ordered_json versions() {
  nlohmann::ordered_json out = {{"evolve", EVOLVE_VERSION},
                                {"rules", kRulesVersion},
                                {"keys", kKeyScheme},
                                {"record", kRecordFormat},
                                {"bundle", kBundleFormat},
                                {"ledger", cache::SqliteLedger::kVersion},
                                {"memo", cache::SqliteMemo::kVersion}};
  const std::string rules = find_rules();
  const auto toolchain = read_toolchain(find_python(rules), rules);
  out["toolchain"] = nlohmann::ordered_json::object();
  if (!toolchain) {
    out["toolchain_fault"] = toolchain.error().message;
    return out;
  }
  for (const auto& [name, version] : versions_of(toolchain->versions)) {
    out["toolchain"][name] = version;
  }
  return out;
}

bool asks_for_versions(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words == std::vector<std::string>{"--json", "--version"};
}

int run(int argc, char** argv) {
  if (auto arguments = ninja_arguments(argc, argv)) return run_ninja(*arguments);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (asks_for_versions(words)) {
    print_out(json_block(versions()) + "\n");
    return 0;
  }
  Commands commands;
  const auto answer = commands.parse(words);
  if (answer && *answer) {
    print_out(**answer);
    return 0;
  }
  const Status status = answer ? commands.run() : Status(answer.error());
  if (status) return 0;
  print_error(status.error(), answer ? commands.common().color : wants_color("auto"));
  return exit_code(status.error().code);
}

// Returns the exit code. Output that cannot be written is an error.
int end_output(int code) {
  const Status written = end_out();
  if (written) return code;
  print_error(written.error(), wants_color("auto"));
  return code != 0 ? code : exit_code(written.error().code);
}

}  // namespace

}  // namespace evolve::cli

int main(int argc, char** argv) {
  try {
    return evolve::cli::end_output(evolve::cli::run(argc, argv));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return evolve::cli::end_output(0);
    // Our own code throws nothing, so an exception means a bug, or that no memory is left.
    evolve::print_err(
        fmt::format("evolve: internal error: {}: please report this as a bug in evolve {}\n",
                    error.what(), EVOLVE_VERSION));
    return 70;
  }
}
