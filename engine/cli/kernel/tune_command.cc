// `evolve tune`: the best block sizes of a kernel, for each bucket of its bench cases' sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/results.h"
#include "engine/campaign/tuned.h"
#include "engine/cli/build_command.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/cli/kernel/kernel_command.h"
#include "engine/core/digest.h"
#include "engine/core/json_text.h"
#include "engine/core/outside_json.h"
#include "engine/core/text/units.h"
#include "engine/replay/delivery.h"
#include "engine/report/output.h"
#include "engine/report/table.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/variant.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
using search::TunedEntry;
namespace fs = std::filesystem;

struct TuneCommand {
  std::string kernel;              // a folder of kernels/, or the path of a spec
  std::vector<std::string> cases;  // only these bench cases; empty: all
  int rounds = 2;
  int variants = 8;  // per round
};

// Returns the path relative to the current folder, if it is below that folder.
std::string near_path(const std::string& path) {
  const std::string near = fs::path(path).lexically_proximate(fs::current_path()).string();
  return near.starts_with("..") ? path : near;
}

// Returns the buckets to tune.
Result<std::vector<search::BucketCases>> chosen_buckets(Spec spec,
                                                        const std::vector<std::string>& cases) {
  if (!cases.empty()) {
    TRY(time_only(spec, cases));
  }
  return search::buckets_of(spec);
}

// Reads the table of a kernel. If there is no file, the table is empty.
Result<json> read_table(const std::string& path, const std::string& kernel, const Spec& spec) {
  std::error_code error;
  json table;
  if (fs::exists(path, error)) {
    TRY_ASSIGN(auto text, world::read_file(path));
    table = json_or_null(text);
  }
  auto read = search::with_entries(table, kernel, spec, {});
  if (!read) return std::move(read).error().within(path);
  return table;
}

// Returns the result of a bucket's campaign: the last round's best variant, or the seed if no
// variant beats the seed.
Result<TunedEntry> found(const Campaign& campaign, const search::BucketCases& bucket) {
  const int round = last_round(campaign);
  const std::string path = fmt::format("{}/round-{}/selection.json", campaign.work, round);
  TRY_ASSIGN(auto text, world::read_file(path));
  TRY_ASSIGN(auto selection, search::read_selection(json_or_null(text)));
  TunedEntry out;
  out.device = campaign.shape.pipeline.target->device_kind;
  out.dtype = campaign.spec.inputs.front().dtype;
  out.bucket = bucket.bucket;
  out.evidence = digest_of(text).hex();
  for (const Tensor& input : campaign.spec.inputs) out.dtypes[input.name] = input.dtype;
  TRY_ASSIGN(auto history, history_of(campaign, round));
  out.rounds = round;
  out.points = static_cast<int64_t>(history.size());
  const std::string variant = !selection.survivors.empty()
                                  ? selection.survivors.front().variant.id.text()
                                  : VariantId(0).text();
  TRY(check_delivery(campaign, variant));
  const json origin = read_json(campaign.folder_of(variant) + "/variant.json");
  for (const Parameter& parameter : campaign.spec.parameters) {
    const json value =
        origin.is_object() ? origin["parameters"].value(parameter.name, json()) : json();
    if (!value.is_number_integer())
      return internal_error(
          fmt::format("{}: '{}' has no {}", campaign.name, variant, parameter.name));
    out.block_sizes[parameter.name] = value.get<int64_t>();
  }
  for (const std::string& name : bucket.cases) {
    const auto time = case_time(campaign, variant, name);
    const auto seed = case_time(campaign, VariantId(0).text(), name);
    if (!time || !seed)
      return failed(fmt::format("{}: case '{}' has no time", campaign.name, name));
    out.kind = to_string(time->kind);
    out.times.push_back({name, time->seconds, seed->seconds});
  }
  return out;
}

Result<TunedEntry> tune_bucket(const CommonOptions& common, const BuildCommand& given,
                               const TuneCommand& tune, const std::string& spec,
                               const search::BucketCases& bucket) {
  const std::string settings = fmt::format(
      "session: {{ max_iterations: {} }}\nbatch: {{ variants_per_round: {}, top_k: 2 }}\n"
      "time: {{ cases: [{}] }}\n",
      tune.rounds, tune.variants, fmt::join(bucket.cases, ", "));
  auto own =
      with_own_pipeline(common, spec, fmt::format("tune-{}", bucket.cases.front()), settings);
  if (!own) return std::move(own).error();
  BuildCommand build = given;
  build.targets = {fmt::format("round-{}", tune.rounds)};
  TRY(run_build(*own, build));
  TRY_ASSIGN(auto campaign, open_campaign(own->campaign));
  return found(campaign, bucket);
}

std::string text_of(const std::string& kernel, const std::string& path,
                    const std::vector<TunedEntry>& entries) {
  std::vector<std::vector<std::string>> rows = {{"case", "tuned", "seed", "", "block sizes"}};
  for (const TunedEntry& entry : entries) {
    std::vector<std::string> sizes;
    for (const auto& [name, value] : entry.block_sizes)
      sizes.push_back(fmt::format("{}={}", name, value));
    for (const search::TunedTime& time : entry.times) {
      rows.push_back({time.case_name, duration(time.seconds),
                      fmt::format("{} ({:.2f}x)", duration(time.seed_seconds),
                                  time.seed_seconds / time.seconds),
                      entry.kind, fmt::format("{}", fmt::join(sizes, " "))});
    }
  }
  return fmt::format("{}: {} buckets tuned for {}: {}\n", kernel, entries.size(),
                     entries.front().device, path) +
         table(rows, "  ");
}

// Returns the lines on entries for which nothing faster was found this time.
std::string kept_text(const std::vector<json>& kept) {
  std::string out;
  for (const json& entry : kept) {
    std::vector<std::string> times;
    for (const json& time : entry["times"])
      times.push_back(fmt::format("{} {}", time["case"].get<std::string>(),
                                  duration(time["seconds"].get<double>())));
    out += fmt::format("  kept because it is faster: {} ({})\n", fmt::join(times, ", "),
                       json_line(entry["block_sizes"]));
  }
  return out;
}

// Runs a campaign for each bucket, over only the spec's parameters. Writes the results into the
// tuned.json next to the spec (kernels/tuned.py); the entries of other buckets stay there. The
// campaigns' pipelines are in .evolve next to the spec, and so is the state folder unless the user
// names another.
Status run_tune(const CommonOptions& common, const BuildCommand& build, const TuneCommand& tune) {
  TRY_ASSIGN(auto spec_path, find_spec(tune.kernel, "evolve tune path/to/spec.yaml"));
  TRY_ASSIGN(auto text, world::read_file(spec_path));
  TRY_ASSIGN(auto spec, parse_spec(text, spec_path));
  TRY_ASSIGN(auto buckets, chosen_buckets(spec, tune.cases));
  const std::string path = (fs::path(spec_path).parent_path() / "tuned.json").string();
  const std::string kernel = kernel_of(spec_path);
  // The table is read first, so that a bad table fails before anything is paid for.
  TRY_ASSIGN(auto table, read_table(path, kernel, spec));
  std::vector<TunedEntry> entries;
  for (const search::BucketCases& bucket : buckets) {
    TRY_ASSIGN(auto entry, tune_bucket(common, build, tune, spec_path, bucket));
    entries.push_back(std::move(entry));
  }
  auto updated = search::with_entries(table, kernel, spec, entries);
  if (!updated) return std::move(updated).error().within(path);
  TRY(world::write_file_atomic(path, json_block(updated->table) + "\n"));
  if (common.json) {
    json event = {{"event", "tuned"},
                  {"file", path},
                  {"kept", updated->kept},
                  {"taken_out", updated->taken_out}};
    event.update(updated->table);
    print_out(json_line(event) + "\n");
    return {};
  }
  print_out(text_of(kernel, near_path(path), entries) + kept_text(updated->kept));
  for (const json& entry : updated->taken_out)
    common.warn(fmt::format("{}: the spec does not allow {}: the entry was removed",
                            near_path(path), json_line(entry["block_sizes"])));
  return {};
}

}  // namespace

void add_tune(Commands& commands) {
  auto command = commands.add("tune",
                              "find a kernel's best block sizes for each bucket (range of input "
                              "sizes), and write them to its tuned.json");
  auto tune = std::make_shared<TuneCommand>();
  auto build = std::make_shared<BuildCommand>();
  command
      .add("name", tune->kernel,
           "the kernel: its folder's name in kernels/, or the path of a spec.yaml")
      .names("kernel")
      .required();
  command
      .add("--case", tune->cases,
           "tune only for this bench case of the spec (default: all); may be given several times")
      .repeated();
  command.add("--rounds", tune->rounds, "number of rounds for each bucket (default: 2)")
      .between(1, 1000);
  command.add("--variants", tune->variants, "number of variants in each round (default: 8)")
      .between(1, 1000);
  add_build_options(commands, command, *build);
  commands.add_common(command);
  commands.on(command, [tune, build](const CommonOptions& common) {
    return run_tune(common, *build, *tune);
  });
}

}  // namespace evolve::cli
