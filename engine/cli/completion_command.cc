// `evolve completion`, and two commands that only scripts run: `evolve complete` and `evolve
// manual`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "engine/app/campaign.h"
#include "engine/cli/commands.h"
#include "engine/options/completion.h"
#include "engine/options/manual.h"
#include "engine/report/output.h"
#include "engine/search/variant.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

namespace fs = std::filesystem;
using options::Candidate;
using Words = std::vector<std::string>;

// Returns the value of an option among the words of a command line; empty: it is not there.
std::string value_of(std::span<const std::string> words, const std::string& name,
                     const std::string& long_name) {
  for (size_t at = 0; at < words.size(); ++at) {
    if (words[at].starts_with(long_name + "=")) return words[at].substr(long_name.size() + 1);
    const bool is_it = words[at] == name || words[at] == long_name;
    if (is_it && at + 1 < words.size()) return words[at + 1];
  }
  return {};
}

std::vector<Candidate> rounds(const Campaign& campaign) {
  std::vector<Candidate> out;
  for (int round = 1; round <= campaign.shape.rounds(); ++round) {
    out.push_back({fmt::format("round-{}", round), ""});
  }
  return out;
}

// Returns the variants of which there are work files.
std::vector<Candidate> variants(const Campaign& campaign) {
  std::vector<Candidate> out;
  for (int number = 0; number <= campaign.shape.rounds() * campaign.shape.variants(); ++number) {
    const std::string id = VariantId(number).text();
    if (world::is_there(campaign.folder_of(id))) out.push_back({id, ""});
  }
  return out;
}

// Returns the folders of kernels/ with a spec.
std::vector<Candidate> kernels() {
  std::vector<Candidate> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("kernels", error)) {
    if (!world::is_there((entry.path() / "spec.yaml").string())) continue;
    out.push_back({entry.path().filename().string(), ""});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.word < b.word; });
  return out;
}

// Returns the values of a kind (ValuesOf). Nothing is said to the user, whose line is not complete
// yet: a campaign that cannot be opened has no values.
std::vector<Candidate> values_of(const std::string& kind, std::span<const std::string> before) {
  std::error_code error;
  if (const std::string folder = value_of(before, "-C", "-C"); !folder.empty()) {
    fs::current_path(folder, error);
  }
  std::vector<Candidate> out;
  if (kind == "pipeline") {
    for (const std::string& path : find_pipelines()) out.push_back({path, ""});
    return out;
  }
  if (kind == "kernel") return kernels();
  if (kind != "round" && kind != "variant" && kind != "target") return {};
  auto campaign = open_campaign({.pipeline = value_of(before, "-p", "--pipeline"),
                                 .state = value_of(before, "--state", "--state")});
  if (!campaign) return {};
  if (kind != "variant") out = rounds(*campaign);
  if (kind == "round") return out;
  for (Candidate& one : variants(*campaign)) out.push_back(std::move(one));
  return out;
}

// Prints the candidates for the last word, each in a line with its help.
Status run_complete(const Commands& commands, const Words& words) {
  const std::span<const std::string> before(words.data(), words.empty() ? 0 : words.size() - 1);
  const std::string current = words.empty() ? "" : words.back();
  for (const Candidate& one : options::complete(commands.describe(), before, current, values_of)) {
    print_out(fmt::format("{}\t{}\n", one.word, one.help));
  }
  return {};
}

// Writes all manual pages into a folder.
Status run_manual(const Commands& commands, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const options::ManualPage& page :
       options::manual_pages(commands.describe(), "evolve " EVOLVE_VERSION)) {
    TRY(world::write_file_atomic(folder + "/" + page.name, page.text));
  }
  return {};
}

}  // namespace

void add_completion(Commands& commands) {
  auto command = commands.add(
      "completion", "print the script by which a shell completes evolve's words: bash, zsh, fish");
  auto shell = std::make_shared<std::string>();
  command.add("shell", *shell, "the shell").required().one_of({"bash", "zsh", "fish"});
  commands.on(command, [shell](const CommonOptions&) -> Status {
    print_out(options::completion_script(*shell, "evolve"));
    return {};
  });
}

void add_complete(Commands& commands) {
  auto command = commands.add("complete", "print the words that may complete a command line");
  command.hide();
  auto words = std::make_shared<Words>();
  command.add("word", *words, "the words after the program's name, up to the one to complete");
  commands.on(command,
              [&commands, words](const CommonOptions&) { return run_complete(commands, *words); });
}

void add_manual(Commands& commands) {
  auto command = commands.add("manual", "write the manual pages into a folder");
  command.hide();
  auto folder = std::make_shared<std::string>();
  command.add("folder", *folder, "the folder").required();
  commands.on(command,
              [&commands, folder](const CommonOptions&) { return run_manual(commands, *folder); });
}

}  // namespace evolve::cli
