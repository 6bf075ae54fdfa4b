#include "engine/app/lock.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "engine/core/key.h"
#include "engine/core/key_change.h"
#include "engine/core/yaml/yaml_source.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;
using Flags = std::map<std::string, std::vector<std::string>>;

struct Lock {
  std::string engine, keys, python;
  std::map<std::string, std::string> packages;
  Flags flags;  // by campaign
};

std::string path_of(const Campaign& campaign) {
  return (fs::path(campaign.path).parent_path() / "evolve.lock").string();
}

Lock lock_of(const Campaign& campaign, const Toolchain& toolchain) {
  Lock out;
  out.engine = EVOLVE_VERSION;
  out.keys = kKeyScheme;
  out.packages = versions_of(toolchain.versions);
  out.python = out.packages.extract("cpython").mapped();
  if (!campaign.shape.pipeline.compile.flags.empty()) {
    out.flags[campaign.name] = campaign.shape.pipeline.compile.flags;
  }
  return out;
}

std::string encode(const Lock& lock) {
  std::string out = fmt::format(
      "# The toolchain of this folder's campaigns. Made by `evolve lock`; a build on another one "
      "is "
      "refused.\nengine: {}\nkeys: {}\npython: {}\npackages:\n",
      lock.engine, lock.keys, lock.python);
  for (const auto& [name, version] : lock.packages) {
    out += fmt::format("  {}: {}\n", name, version);
  }
  if (!lock.flags.empty()) out += "flags:\n";
  for (const auto& [campaign, flags] : lock.flags) {
    out += fmt::format("  {}: [{}]\n", campaign, fmt::join(flags, ", "));
  }
  return out;
}

Result<Lock> decode(const std::string& text, const std::string& path) {
  TRY_ASSIGN(auto source, YamlSource::parse(text, path));
  YamlErrors errors(source);
  YamlMap root(errors, &source.root(), "");
  Lock out;
  root.text("engine", out.engine, Need::required);
  root.text("keys", out.keys, Need::required);
  root.text("python", out.python, Need::required);
  if (const YamlNode* packages = root.map("packages", Need::required)) {
    for (const YamlEntry& entry : packages->entries) out.packages[entry.key] = entry.value.text;
  }
  if (const YamlNode* flags = root.map("flags")) {
    YamlMap by_campaign(errors, flags, "flags");
    for (const YamlEntry& entry : flags->entries) {
      by_campaign.texts(entry.key, out.flags[entry.key]);
    }
  }
  root.finish();
  if (auto status = errors.status(); !status) return status.error();
  return out;
}

// Reads a lock; nullopt: there is no lock.
Result<std::optional<Lock>> read_lock(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<Lock>{};
  TRY_ASSIGN(auto text, world::read_file(path));
  TRY_ASSIGN(auto lock, decode(text, path));
  return std::optional(std::move(lock));
}

// Returns the differences, such as "libtpu: locked 0.0.42.1, found 0.0.43".
std::vector<std::string> differences(const Lock& locked, const Lock& here,
                                     const std::string& campaign) {
  std::vector<std::string> out;
  auto compare = [&](const std::string& name, const std::string& its, const std::string& ours) {
    auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
    if (its != ours) {
      out.push_back(fmt::format("{}: locked {}, found {}", name, shown(its), shown(ours)));
    }
  };
  compare("evolve", locked.engine, here.engine);
  compare("key scheme", locked.keys, here.keys);
  compare("Python", locked.python, here.python);
  auto all = locked.packages;
  all.insert(here.packages.begin(), here.packages.end());
  auto value_in = [](const auto& map, const std::string& name) {
    auto found = map.find(name);
    return found == map.end() ? typename std::decay_t<decltype(map)>::mapped_type{} : found->second;
  };
  for (const auto& [name, version] : all) {
    compare(name, value_in(locked.packages, name), value_in(here.packages, name));
  }
  compare("compile.flags", fmt::format("{}", fmt::join(value_in(locked.flags, campaign), " ")),
          fmt::format("{}", fmt::join(value_in(here.flags, campaign), " ")));
  return out;
}

}  // namespace

Status check_lock(const Campaign& campaign, const Toolchain& toolchain) {
  const std::string path = path_of(campaign);
  TRY_ASSIGN(auto locked, read_lock(path));
  if (!locked) return {};
  const auto found = differences(*locked, lock_of(campaign, toolchain), campaign.name);
  if (found.empty()) return {};
  return bad_input(fmt::format("{}: the toolchain differs: {}", path, fmt::join(found, "; ")), "",
                   "restore the locked toolchain, or lock this toolchain with evolve lock");
}

Result<Answer> write_lock(const CampaignOptions& options) {
  TRY_ASSIGN(auto campaign, open_campaign(options));
  TRY_ASSIGN(auto toolchain, read_toolchain(campaign.python, campaign.rules));
  const std::string path = path_of(campaign);
  TRY_ASSIGN(auto before, read_lock(path));
  Lock lock = lock_of(campaign, toolchain);
  // The flags of the folder's other campaigns stay.
  if (before) {
    for (auto& [name, flags] : before->flags) {
      if (name != campaign.name) lock.flags[name] = std::move(flags);
    }
  }
  TRY(world::write_file_atomic(path, encode(lock)));
  const auto changed =
      before ? differences(*before, lock, campaign.name) : std::vector<std::string>{};
  std::string text = path + ": " + (before ? "" : "new: ") + toolchain.versions + "\n";
  for (const std::string& change : changed) text += fmt::format("  was: {}\n", change);
  return Answer{{{"path", path}, {"toolchain", toolchain.versions}, {"changed", changed}}, text};
}

}  // namespace evolve
