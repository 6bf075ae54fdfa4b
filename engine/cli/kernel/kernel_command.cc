#include "engine/cli/kernel/kernel_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/app/results.h"
#include "engine/cli/build_command.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/json_text.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/plain_text.h"
#include "engine/core/text/units.h"
#include "engine/report/output.h"
#include "engine/search/variant.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace fs = std::filesystem;

Result<std::string> find_spec(const std::string& name, const std::string& hint) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return fs::absolute(name).string();
  if (fs::is_regular_file(fs::path(name) / "spec.yaml", error)) {
    return fs::absolute(fs::path(name) / "spec.yaml").string();
  }
  std::vector<std::string> known;
  for (fs::path folder = fs::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path spec = folder / "kernels" / name / "spec.yaml";
    if (fs::is_regular_file(spec, error)) return spec.string();
    for (const auto& entry : fs::directory_iterator(folder / "kernels", error)) {
      if (fs::exists(entry.path() / "spec.yaml", error)) {
        known.push_back(entry.path().filename().string());
      }
    }
    if (!known.empty()) break;
  }
  auto near = nearest(name, known);
  return bad_input(fmt::format("kernel '{}': no kernels/{}/spec.yaml here or above{}", name, name,
                               near ? fmt::format(", did you mean '{}'?", *near) : ""),
                   "", hint);
}

std::string kernel_of(const std::string& spec) {
  return fs::weakly_canonical(spec).parent_path().filename().string();
}

namespace {

// Returns a text in YAML's double quotes.
std::string yaml_text(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

Result<CommonOptions> with_own_pipeline(const CommonOptions& common, const std::string& spec,
                                        const std::string& name, const std::string& settings) {
  const fs::path folder = fs::path(spec).parent_path() / ".evolve";
  const std::string pipeline = (folder / (name + ".yaml")).string();
  world::DiskFiles files;
  TRY(files.make_folders(folder.string()));
  const std::string text =
      fmt::format("# Made by evolve.\nkernel: {{ name: {}, spec: {} }}\n{}",
                  yaml_text(plain_line(kernel_of(spec))),
                  yaml_text("../" + fs::path(spec).filename().string()), settings);
  TRY(files.write(pipeline, text));
  CommonOptions own = common;
  own.campaign.pipeline = pipeline;
  if (own.campaign.state.empty()) own.campaign.state = folder.string();
  return own;
}

namespace {

using nlohmann::json;

// Returns the options of a campaign that is only for round 0, without further variants.
Result<CommonOptions> check_campaign(const CommonOptions& common, const std::string& spec) {
  return with_own_pipeline(common, spec, "check-" + kernel_of(spec),
                           "session: { max_iterations: 1 }\nbatch: { variants_per_round: 1 }\n");
}

BuildCommand build_of(std::vector<std::string> targets, int jobs) {
  BuildCommand build;
  build.targets = std::move(targets);
  build.jobs = jobs;
  build.keep_going = 0;
  return build;
}

// Returns the seed's standing in each bench case: its time, its shares of the machine, and its
// bottleneck. A row has "xla_seconds" only if the XLA baseline has a time.
json standing(const Campaign& campaign) {
  json out = json::array();
  for (const std::string& name : campaign.shape.bench_cases) {
    json row = {{"case", name}};
    const std::string seed = VariantId(0).text();
    if (auto time = case_time(campaign, seed, name)) {
      row["kind"] = to_string(time->kind);
      row["seconds"] = time->seconds;
    }
    if (auto time =
            campaign.shape.files.xla.empty() ? std::nullopt : case_time(campaign, "xla", name))
      row["xla_seconds"] = time->seconds;
    const ir::Facts facts = case_facts(campaign, seed, name).value_or(ir::Facts{});
    row["roofline_share"] = facts.roofline.fraction_of_roofline;
    row["mxu_share"] = facts.signals.hw_utilization.mxu_util_pct / 100;
    row["hbm_share"] = facts.signals.hbm_bandwidth_utilization_pct / 100;
    row["bottleneck"] = facts.bottleneck;
    row["evidence"] = facts.evidence;
    out.push_back(std::move(row));
  }
  return out;
}

// Returns the standing as a table in Markdown.
std::string standing_text(const json& rows) {
  std::string out =
      "| case | seed | XLA | of the roofline | matrix units | HBM | bottleneck |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const json& row : rows) {
    const auto time = [&](const char* key) {
      return row.contains(key) ? duration(row[key].get<double>()) : std::string("-");
    };
    const auto percent = [&](const char* key) {
      return fmt::format("{:.0f} %", 100 * row[key].get<double>());
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {}: {} |\n", row.value("case", ""),
                       time("seconds"), time("xla_seconds"), percent("roofline_share"),
                       percent("mxu_share"), percent("hbm_share"), row.value("bottleneck", ""),
                       row.value("evidence", ""));
  }
  return out;
}

// Returns a README with the table between its two comments. If the comments are missing, they are
// added at the end with the table.
std::string with_standing(std::string readme, const std::string& kernel, const std::string& table) {
  constexpr std::string_view kEnd = "<!-- end -->";
  const std::string begin = fmt::format("<!-- evolve kernel time {} --write -->", kernel);
  const std::string text = fmt::format("{}\n{}{}", begin, table, kEnd);
  const size_t at = readme.find(begin);
  const size_t end = at == std::string::npos ? at : readme.find(kEnd, at);
  if (end != std::string::npos) return readme.replace(at, end + kEnd.size() - at, text);
  if (!readme.empty() && !readme.ends_with('\n')) readme += '\n';
  return fmt::format("{}\n{}\n", readme, text);
}

}  // namespace

// Audits every check case of the kernel's spec, which shows that no trivial answer passes. Also
// checks that the seed passes every step.
Status run_kernel_check(const CommonOptions& common, const std::string& name, int jobs) {
  TRY_ASSIGN(auto spec, find_spec(name, "evolve kernel check path/to/spec.yaml"));
  TRY_ASSIGN(auto own, check_campaign(common, spec));
  TRY(run_build(own, build_of({"task", "v0000"}, jobs)));
  if (!common.json) {
    print_out(fmt::format("{}: the seed passes, and no trivial answer passes\n", kernel_of(spec)));
  }
  return {};
}

// Checks the kernel like run_kernel_check(), because round 0 includes the audits. Prints how long
// its seed and the XLA baseline take, the seed's share of the roofline, how busy the units are, and
// what bounds the seed. `writes`: the table also goes into the README next to the spec, between two
// comments, or at the end if the comments are missing.
Status run_kernel_time(const CommonOptions& common, const std::string& name, int jobs,
                       bool writes) {
  TRY_ASSIGN(auto spec, find_spec(name, "evolve kernel time path/to/spec.yaml"));
  TRY_ASSIGN(auto own, check_campaign(common, spec));
  TRY(run_build(own, build_of({"round-0"}, jobs)));
  TRY_ASSIGN(auto campaign, open_campaign(own.campaign));
  const json rows = standing(campaign);
  const std::string table = standing_text(rows);
  if (writes) {
    const std::string path = (fs::path(spec).parent_path() / "README.md").string();
    std::error_code error;
    std::string readme;
    if (fs::exists(path, error)) {
      TRY_ASSIGN(auto text, world::read_file(path));
      readme = std::move(text);
    }
    auto status =
        world::write_file_atomic(path, with_standing(std::move(readme), kernel_of(spec), table));
    if (!status) return status;
  }
  print_out(common.json ? json_line(json{{"event", "standing"}, {"cases", rows}}) + "\n" : table);
  return {};
}

void add_kernel(Commands& commands) {
  struct Options {
    std::string name;
    int jobs = 0;
    bool writes = false;
  };
  auto options = std::make_shared<Options>();
  auto kernel = commands.add(
      "kernel",
      "check or time a kernel's seed (its first version), without a campaign: check, time");
  kernel.require_command();
  auto check = kernel.add_command("check",
                                  "check that the seed passes, and that wrong outputs, such "
                                  "as zeros, a mean or an input, do not");
  auto time = kernel.add_command(
      "time", "check the kernel, and show how long its seed takes and what limits its speed");
  time.add("--write", options->writes, "also write the result into the kernel's README");
  for (Parser command : {check, time}) {
    command
        .add("name", options->name,
             "the kernel: its folder's name in kernels/, or the path of a spec.yaml")
        .names("kernel")
        .required();
    Commands::add_jobs(command, options->jobs);
    commands.add_common(command);
  }
  commands.on(check, [options](const CommonOptions& common) {
    return run_kernel_check(common, options->name, options->jobs);
  });
  commands.on(time, [options](const CommonOptions& common) {
    return run_kernel_time(common, options->name, options->jobs, options->writes);
  });
}

}  // namespace evolve::cli
