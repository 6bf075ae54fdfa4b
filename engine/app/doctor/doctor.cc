#include "engine/app/doctor/doctor.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "engine/app/campaign.h"
#include "engine/app/elsewhere/cluster.h"
#include "engine/app/machine.h"
#include "engine/app/python.h"
#include "engine/app/state.h"
#include "engine/app/toolchain.h"
#include "engine/core/json_read.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/plain_text.h"
#include "engine/core/text/units.h"
#include "engine/world/files.h"
#include "engine/world/process/capture.h"
#include "k8s/doctor.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;
using Is = Finding::State;

Finding missing(std::string subject, const Error& error) {
  return {Is::missing, std::move(subject), error.message, error.hint};
}

Finding program_finding() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path steps = program.parent_path() / "steps";
  if (fs::is_directory(steps, error)) {
    return {Is::good, "evolve", fmt::format(EVOLVE_VERSION ", {}", program.string())};
  }
  return {Is::missing, "evolve",
          fmt::format("{}: the folder of the step programs is missing", steps.string()),
          "build or install evolve again"};
}

// Returns the findings about the rules and about the Python that runs them.
std::vector<Finding> rules_findings() {
  const std::string rules = find_rules(fs::current_path().string());
  if (!world::is_there(rules + "/steps.ninja")) {
    return {{Is::missing, "rules", "no folder of rules above this program or this folder",
             "build or install evolve again"}};
  }
  std::vector<Finding> out = {{Is::good, "rules", fs::absolute(rules).string()}};
  auto toolchain = read_toolchain(find_python(rules), rules);
  if (!toolchain) {
    out.push_back(missing("python", toolchain.error()));
    return out;
  }
  const std::string interpreter = toolchain->versions.substr(0, toolchain->versions.find(' '));
  out.push_back({Is::good, "python", fmt::format("{}, {}", interpreter, toolchain->python)});
  auto printed = run_python("process.doctor", {});
  if (!printed) {
    out.push_back(missing("python", printed.error()));
    return out;
  }
  const auto found = python_findings(*printed);
  out.insert(out.end(), found.begin(), found.end());
  return out;
}

std::optional<std::string> nvidia_smi() {
  auto ended =
      world::capture({"nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"},
                     command_environment());
  if (!ended || ended->code != 0) return std::nullopt;
  return ended->out;
}

// Returns the nearest folder upwards that exists.
std::string existing_folder(const std::string& path) {
  std::error_code error;
  fs::path out = fs::absolute(path);
  while (out.has_relative_path() && !fs::is_directory(out, error)) out = out.parent_path();
  return out.string();
}

Finding state_finding(const std::string& folder) {
  if (!world::is_there(folder + "/ledger.db")) {
    return {Is::good, "state", fmt::format("{}: nothing was built yet", shown_path(folder))};
  }
  std::string warning;
  auto state = open_state(folder, Sharing::names, warning);
  if (!state) return missing("state", state.error());
  if (!warning.empty()) return {Is::notice, "state", warning};
  return {Is::good, "state",
          fmt::format("{}: ledger of version {}, memo of version {}", shown_path(folder),
                      cache::SqliteLedger::kVersion, cache::SqliteMemo::kVersion)};
}

// Asks the remote cache for a result that it cannot have; nullopt: no remote cache is used.
std::optional<Finding> remote_finding(const RemoteSettings& settings) {
  auto address = remote_address(settings);
  if (!address) return missing("remote cache", address.error());
  if (!*address) return std::nullopt;
  const HttpRequest request =
      (*address)->look(cache::RemoteAddress::entry(digest_of("evolve doctor")));
  const HttpResponse answer =
      remote_http(settings, **address)->perform(std::span(&request, 1)).front();
  if (is_success(answer.status) || is_absent(answer.status)) {
    return Finding{Is::good, "remote cache", (*address)->text()};
  }
  return Finding{Is::notice, "remote cache", cache::fault_text(request, answer),
                 "builds go on without it"};
}

Finding cluster_finding(const Pipeline::Cluster& wanted) {
  auto cluster = Cluster::open({"", wanted.context, wanted.space});
  if (!cluster) return missing("cluster", cluster.error());
  const auto findings = k8s::examine((*cluster)->api(), (*cluster)->access());
  for (const Finding& one : findings) {
    if (one.state != Is::missing) continue;
    return {Is::missing, "cluster", fmt::format("{}: {}", one.subject, one.text),
            "evolve cluster doctor"};
  }
  return {Is::good, "cluster", (*cluster)->access().server};
}

}  // namespace

Finding disk_finding(const std::string& folder, uintmax_t available) {
  constexpr uintmax_t kLeast = uintmax_t{1} << 30, kEnough = uintmax_t{10} << 30;
  const std::string text =
      fmt::format("{} free at {}", size_text(static_cast<int64_t>(available)), folder);
  if (available >= kEnough) return {Is::good, "disk", text};
  return {available < kLeast ? Is::missing : Is::notice, "disk", text,
          "evolve cache gc --max-size 5G makes room; --state names a folder elsewhere"};
}

Finding memory_finding(double bytes) {
  constexpr double kEnough = 4e9;
  const std::string text =
      fmt::format("{}, {} cores", size_text(static_cast<int64_t>(bytes)), usable_cores());
  if (bytes >= kEnough) return {Is::good, "memory", text};
  return {Is::notice, "memory", text, "a kernel's compiler may need 4 GB"};
}

std::vector<Finding> python_findings(const std::string& printed) {
  const nlohmann::json answer = json_or_null(printed);
  std::vector<Finding> out;
  for (const char* subject : {"jax", "sandbox"}) {
    const std::string value = text_at(answer, subject);
    std::string fault = text_at(answer, fmt::format("{}_fault", subject));
    if (!value.empty()) {
      out.push_back({Is::good, subject, plain_line(value)});
      continue;
    }
    // The reason may end with a line for the user.
    constexpr std::string_view kHint = "\nhint: ";
    const size_t hint = fault.find(kHint);
    out.push_back({Is::missing, subject, plain_line(fault.substr(0, hint)),
                   hint == std::string::npos ? "" : plain_line(fault.substr(hint + kHint.size()))});
  }
  return out;
}

Finding gpu_finding(const std::optional<std::string>& printed) {
  if (!printed) return {Is::good, "gpu", "none (no kernel here needs one)"};
  std::string names;
  std::istringstream lines(*printed);
  for (std::string line; std::getline(lines, line);) {
    names += (names.empty() ? "" : "; ") + plain_line(line);
  }
  return {Is::good, "gpu", names};
}

std::vector<Finding> examine(const CampaignFlags& flags, const RemoteSettings& remote) {
  // Opening a campaign changes to its project, whose rules are then looked at.
  const auto place = find_campaign(flags.campaign);
  auto campaign = place ? open_campaign(flags.campaign) : Result<Campaign>(place.error());
  std::vector<Finding> out = {program_finding()};
  for (Finding& one : rules_findings()) out.push_back(std::move(one));
  const std::string state = place ? place->state : ".evolve";
  const std::string folder = existing_folder(state);
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  out.push_back(memory_finding(with_memory({}).at("memory")));
  if (!error) out.push_back(disk_finding(shown_path(folder), space.available));
  out.push_back(gpu_finding(nvidia_smi()));
  if (!place) {
    out.push_back({Is::notice, "campaign", place.error().message, place.error().hint});
  } else if (!campaign) {
    out.push_back(missing("campaign", campaign.error()));
  } else {
    out.push_back({Is::good, "campaign", shown_path(campaign->path)});
  }
  if (place) out.push_back(state_finding(place->state));
  if (auto one = remote_finding(remote)) out.push_back(*std::move(one));
  if (campaign && !campaign->shape.pod_pools.empty()) {
    out.push_back(cluster_finding(campaign->shape.pipeline.cluster));
  }
  return out;
}

}  // namespace evolve
