#include "engine/app/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cache/ledger.h"
#include "engine/app/machine.h"
#include "engine/app/toolchain.h"
#include "engine/campaign/generator/step_sources.h"
#include "engine/core/outside_json.h"
#include "engine/core/path.h"
#include "engine/core/text/characters.h"
#include "engine/core/text/plain_text.h"
#include "engine/graph/edge_text.h"
#include "engine/graph/manifest.h"
#include "engine/llm/config.h"
#include "engine/search/variant.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::string out = fs::absolute(path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// Returns a path relative to the current folder (the root) if the path lies below that folder;
// otherwise the path as it is.
std::string from_root(const std::string& path) {
  std::string relative = fs::path(path).lexically_relative(fs::current_path()).string();
  // A relative path that begins with '$' or '-' is not used, because a command would read the path
  // as a variable or a flag.
  const bool is_below = !relative.empty() && !relative.starts_with("..") &&
                        std::string_view("$-").find(relative.front()) == std::string_view::npos;
  return is_below ? relative : path;
}

// The folder in which the user started evolve. Opening a campaign changes the current folder, so
// the first one is kept.
const fs::path& started_in() {
  static const fs::path folder = fs::current_path();
  return folder;
}

// Returns a campaign's path relative to the folder in which the user started evolve; absolute if
// the path does not lie below that folder.
std::string place_for_user(const std::string& path) {
  const std::string whole = absolute(path);
  const std::string near = fs::path(whole).lexically_relative(started_in()).string();
  return near.empty() || near.starts_with("..") ? whole : near;
}

// Returns a text as a word for bash that any terminal can show: all but printable ASCII is escaped.
std::string escaped_word(const std::string& text) {
  std::string out = "$'";
  for (char c : text) {
    const bool is_plain = c >= ' ' && c <= '~';
    if (c == '\'' || c == '\\') out += '\\';
    out += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + "'";
}

// Returns a campaign's path as a word of a command line that the user may paste.
std::string as_argument(const std::string& path) {
  const std::string place = place_for_user(path);
  if (!is_plain_line(place)) return escaped_word(place);
  std::string out;
  append_shell_quoted(place, out);
  return out.starts_with('-') || out.starts_with("'-") ? out.insert(out.find('-'), "./") : out;
}

// Whether a file may be a pipeline: a .yaml file without `entry:`, which only a spec has. Unless
// `is_near` (in the user's folder), it must also name a kernel, because many files end in .yaml.
bool may_be_pipeline(const fs::path& path, bool is_near) {
  if (path.extension() != ".yaml") return false;
  auto text = world::read_file(path.string());
  if (!text) return is_near;
  auto has = [&text](const std::string& key) {
    return text->starts_with(key) || text->find("\n" + key) != std::string::npos;
  };
  return !has("entry:") && (is_near || has("kernel:"));
}

void tell(const CampaignOptions& options, const std::string& message) {
  if (options.tell) options.tell(message);
}

// Returns which of several pipelines was built last; empty: none was built in its state folder.
Result<std::string> last_built(const CampaignOptions& options,
                               const std::vector<std::string>& pipelines) {
  std::map<std::string, std::vector<std::string>> by_state;
  for (const std::string& path : pipelines) {
    by_state[options.state.empty() ? usual_state(path) : options.state].push_back(path);
  }
  std::string out, newest;
  for (const auto& [state, paths] : by_state) {
    const std::string ledger_file = state + "/ledger.db";
    if (!world::is_there(ledger_file)) continue;
    std::string warning;
    TRY_ASSIGN(auto ledger, cache::SqliteLedger::open(ledger_file, warning));
    if (!warning.empty()) tell(options, warning);
    TRY_ASSIGN(auto builds, ledger->builds().last_of_each());
    for (const cache::BuildRecord& build : builds) {
      if (build.started <= newest) continue;
      const auto path = std::find_if(paths.begin(), paths.end(), [&](const std::string& one) {
        return fs::path(one).stem() == build.campaign;
      });
      if (path == paths.end()) continue;
      newest = build.started;
      out = *path;
    }
  }
  return out;
}

// Returns the pipeline files in a folder and in its folder `pipelines`, sorted.
std::vector<std::string> pipelines_in(const fs::path& folder, bool is_near) {
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::path& place : {folder, folder / "pipelines"}) {
    for (const auto& entry : fs::directory_iterator(place, error)) {
      if (may_be_pipeline(entry.path(), is_near)) out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Returns the pipeline files here, or in the nearest folder above that has some.
std::vector<std::string> nearest_pipelines() {
  const fs::path here = fs::current_path();
  for (fs::path at = here; at.has_relative_path(); at = at.parent_path()) {
    auto found = pipelines_in(at, at == here);
    if (!found.empty()) return found;
  }
  return {};
}

// Returns the pipeline that the options name, or else the one that EVOLVE_PIPELINE names. If
// neither does: the only pipeline here, or in the nearest folder above that has one; of several,
// the one that was built last.
Result<std::string> find_pipeline(const CampaignOptions& options) {
  std::error_code error;
  if (!options.pipeline.empty()) {
    if (fs::is_regular_file(options.pipeline, error)) return absolute(options.pipeline);
    return bad_input(fmt::format("{}: no such pipeline", options.pipeline), "",
                     "name an existing pipeline: evolve build -p PIPELINE.yaml");
  }
  const std::string named = variable("EVOLVE_PIPELINE");
  if (!named.empty()) {
    if (!fs::is_regular_file(named, error)) {
      return bad_input(fmt::format("EVOLVE_PIPELINE: {}: no such pipeline", named), "",
                       "unset EVOLVE_PIPELINE, or name an existing file with it");
    }
    tell(options, fmt::format("using {}, which EVOLVE_PIPELINE names", as_argument(named)));
    return absolute(named);
  }
  // Kernels are found in the same way.
  std::vector<std::string> found = nearest_pipelines();
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return bad_input("no pipeline in this folder", "", "name one with -p PIPELINE.yaml");
  }
  TRY_ASSIGN(auto last, last_built(options, found));
  if (!last.empty()) {
    tell(options, fmt::format("using {}, the last that was built here; -p names another",
                              as_argument(last)));
    return last;
  }
  for (std::string& path : found) path = as_argument(path);
  return bad_input(fmt::format("several pipelines: {}", fmt::join(found, ", ")), "",
                   "name one with -p PIPELINE.yaml, or with EVOLVE_PIPELINE");
}

fs::path executable_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

fs::path find_root(const fs::path& pipeline) {
  std::error_code error;
  for (fs::path folder = pipeline.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "rules/steps.ninja", error)) return folder;
  }
  return pipeline.parent_path();
}

// Returns the nearest folder of rules above this binary; empty: there is none.
std::string installed_rules() {
  for (fs::path folder = executable_folder(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (world::is_there((folder / "rules/steps.ninja").string()))
      return (folder / "rules").string();
  }
  return {};
}

// Checks that a folder of rules is of the right version. Bad input: a project has a copy of other
// rules.
Status check_rules(const std::string& rules) {
  auto text = world::read_file(rules + "/steps.ninja");
  if (!text) return {};
  constexpr std::string_view kKey = "\nrules_version = ";
  const size_t at = text->find(kKey);
  const std::string version =
      at == std::string::npos
          ? "0"
          : text->substr(at + kKey.size(), text->find('\n', at + 1) - at - kKey.size());
  if (version == kRulesVersion) return {};
  return bad_input(
      fmt::format("{}/steps.ninja: the rules are of version {}, but evolve {} needs version {}",
                  shown_path(rules), plain_line(version), EVOLVE_VERSION, kRulesVersion),
      "",
      fmt::format("remove the folder {}, and evolve uses its own rules, {}", shown_path(rules),
                  installed_rules()));
}

// Returns the place of a path that a file in `folder` names. A relative path starts from `folder`.
std::string beside(const std::string& folder, const std::string& given) {
  return from_root(absolute((fs::path(folder) / given).string()));
}

// Reads the file of language models that a pipeline names. Takes from it the names of the
// environment variables that hold the models' keys.
Status read_models(Campaign& campaign, const std::string& folder,
                   const std::string& pipeline_path) {
  if (campaign.shape.pipeline.mutate.llm.empty()) return {};
  CampaignShape& shape = campaign.shape;
  shape.files.llm = beside(folder, campaign.shape.pipeline.mutate.llm);
  auto text = world::read_file(shape.files.llm);
  if (!text) {
    return bad_input(
        fmt::format("{}: mutate.llm: {}", shown_path(pipeline_path), text.error().message));
  }
  auto record = parse_outside(*text);
  if (!record) return std::move(record).error().within(shown_path(shape.files.llm));
  auto config = llm::read_config(*record);
  if (!config) return std::move(config).error().within(shown_path(shape.files.llm));
  std::set<std::string> keys;
  for (const llm::Model& model : config->models) {
    if (!model.key_variable.empty()) keys.insert(model.key_variable);
  }
  shape.llm_keys = {keys.begin(), keys.end()};
  return {};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Checks that a manifest can express a path. Bad input: the path holds a carriage return.
Status check_path(const std::string& path, const std::string& pipeline_path) {
  if (path.find('\r') == std::string::npos) return {};
  return bad_input(fmt::format("{}: '{}': a path must not contain a carriage return",
                               shown_path(pipeline_path), plain_line(path)),
                   "", "rename the file or folder");
}

// Reads the spec, and fills in the campaign's files and cases.
Status read_kernel(Campaign& campaign, const std::string& pipeline_path) {
  const Pipeline& pipeline = campaign.shape.pipeline;
  std::string folder = fs::path(pipeline_path).parent_path().string();
  if (pipeline.kernel.spec.empty()) {
    return bad_input(fmt::format("{}: kernel.spec is missing: it names the spec.yaml with the "
                                 "kernel's cases, tolerances and parameters",
                                 shown_path(pipeline_path)),
                     "",
                     "evolve import glaucis FILE creates a spec from a Glaucis config; evolve init "
                     "creates a spec from a function");
  }
  CampaignShape& shape = campaign.shape;
  shape.files.spec = beside(folder, pipeline.kernel.spec);
  auto text = world::read_file(shape.files.spec);
  if (!text) {
    return bad_input(
        fmt::format("{}: kernel.spec: {}", shown_path(pipeline_path), text.error().message));
  }
  TRY_ASSIGN(auto spec, parse_spec(*text, shown_path(shape.files.spec)));
  campaign.spec = std::move(spec);
  if (!pipeline.time.cases.empty()) {
    if (auto status = time_only(campaign.spec, pipeline.time.cases); !status)
      return std::move(status).error().within(shown_path(pipeline_path) + ": time.cases");
  }
  std::string kernel_folder = fs::path(shape.files.spec).parent_path().string();
  auto kernel_file = [&](const std::string& given, const char* usual) {
    return given.empty() ? beside(kernel_folder, usual) : beside(folder, given);
  };
  shape.files.seed = kernel_file(pipeline.kernel.template_path, "kernel.py");
  shape.files.reference = kernel_file(pipeline.kernel.reference_path, "reference.py");
  shape.files.xla = kernel_file("", "xla.py");
  std::error_code error;
  if (!fs::exists(shape.files.xla, error)) shape.files.xla.clear();
  for (const std::string& file : {shape.files.seed, shape.files.reference}) {
    if (!fs::exists(file, error)) {
      return bad_input(
          fmt::format("{}: '{}' is missing", shown_path(pipeline_path), shown_path(file)), "",
          "kernel.template and kernel.reference name the seed and the reference");
    }
  }
  if (!pipeline.time.constants.empty()) {
    shape.files.constants = beside(folder, pipeline.time.constants);
    if (!fs::exists(shape.files.constants, error)) {
      return bad_input(fmt::format("{}: time.constants: '{}' is missing", shown_path(pipeline_path),
                                   shown_path(shape.files.constants)),
                       "", "evolve model calibrate writes a file of constants");
    }
  }
  if (!pipeline.learn.file.empty()) {
    shape.files.learnings = beside(folder, pipeline.learn.file);
    if (!fs::exists(shape.files.learnings, error)) {
      return bad_input(fmt::format("{}: learn.file: '{}' is missing", shown_path(pipeline_path),
                                   shown_path(shape.files.learnings)),
                       "", "create an empty file to start with");
    }
  }
  TRY(read_models(campaign, folder, pipeline_path));
  const std::string& proposals = pipeline.mutate.proposals;
  shape.files.proposals =
      beside(folder, proposals.empty() ? fmt::format("{}-proposals", campaign.name) : proposals);
  shape.entry = campaign.spec.entry;
  for (const auto& one : campaign.spec.cases) {
    if (one.has_tag("bench")) shape.bench_cases.push_back(one.name);
    if (is_checked(campaign.spec, one)) shape.check_cases.push_back(one.name);
  }
  for (const std::string& path : shape.files.all()) {
    TRY(check_path(path, pipeline_path));
  }
  return {};
}

}  // namespace

std::vector<std::string> find_pipelines() {
  std::vector<std::string> out = nearest_pipelines();
  for (std::string& path : out) path = place_for_user(path);
  return out;
}

std::string shown_path(const std::string& path) {
  return plain_line(place_for_user(path));
}

std::vector<MachineBinding> Campaign::machine() const {
  return {{"work", work}, {"python", python}, {"rules", rules}, {"steps", steps}};
}

std::vector<std::string> Campaign::sources() const {
  std::vector<std::string> out = {path, rules + "/requirements.lock", rules + "/steps.ninja",
                                  rules + "/process/worker.py", rounds()};
  if (!shape.files.llm.empty()) out.push_back(shape.files.llm);
  return out;
}

std::string Campaign::folder_of(const std::string& variant) const {
  if (variant == "xla") return shape.files.xla.empty() ? "" : work + "/round-0/xla";
  const auto id = VariantId::parse(variant);
  const bool is_one = id && id->number() <= shape.rounds() * shape.variants();
  return is_one ? work + "/" + variant_folder(shape, id->number()) : "";
}

std::string find_rules(const std::string& root) {
  std::error_code error;
  const bool has_own = fs::exists(fs::path(root) / "rules/steps.ninja", error);
  const std::string installed = has_own ? "" : installed_rules();
  return installed.empty() ? "rules" : installed;
}

std::string usual_state(const std::string& pipeline) {
  return (fs::path(pipeline).parent_path() / ".evolve").string();
}

Result<CampaignPlace> find_campaign(const CampaignOptions& options) {
  CampaignPlace out;
  std::error_code error;
  auto path = find_pipeline(options);
  const bool is_nameless =
      options.pipeline.empty() && (!options.state.empty() || fs::exists(".evolve", error));
  if (!path && !is_nameless) return std::move(path).error();
  if (path) out.name = fs::path(*path).stem().string();
  if (!options.state.empty()) {
    out.state = absolute(options.state);
  } else {
    out.state = path ? usual_state(*path) : absolute(".evolve");
  }
  return out;
}

std::string arguments_of(const Campaign& campaign) {
  std::string out = "-p " + as_argument(campaign.path);
  if (absolute(campaign.state) != absolute(usual_state(campaign.path)))
    out += " --state " + as_argument(campaign.state);
  return out;
}

Result<Campaign> open_campaign(const CampaignOptions& options) {
  started_in();
  TRY_ASSIGN(auto path, find_pipeline(options));
  std::string state = options.state.empty() ? usual_state(path) : absolute(options.state);
  fs::path root = find_root(path);
  std::error_code error;
  fs::current_path(root, error);
  if (error) return world::system_error("chdir", root.string(), error.value());

  Campaign campaign;
  TRY_ASSIGN(auto text, world::read_file(path));
  TRY_ASSIGN(auto pipeline, parse_pipeline(text, shown_path(path)));
  campaign.shape.pipeline = std::move(pipeline);
  campaign.name = fs::path(path).stem().string();
  campaign.path = from_root(path);
  campaign.state = from_root(state);
  campaign.work = from_root(absolute(state + "/" + campaign.name));
  campaign.rules = find_rules(root);
  TRY(check_rules(campaign.rules));
  campaign.steps = from_root((executable_folder() / "steps").string());
  const std::string& wanted = campaign.shape.pipeline.toolchain.python;
  campaign.python = find_python(
      campaign.rules, wanted.empty() ? "" : beside(fs::path(path).parent_path().string(), wanted));

  TRY(check_bindings(campaign));

  CampaignShape& shape = campaign.shape;
  if (shape.is_measured()) campaign.device_kind = cpu_kind();
  for (const Pipeline::PodPool& pool : campaign.shape.pipeline.cluster.pools) {
    for (const std::string& step : pool.steps) {
      if (options.is_local) continue;
      shape.pod_pools[step] = pool.name;
      if (step == "measure" && shape.is_measured() && !pool.device_kind.empty()) {
        campaign.device_kind = pool.device_kind;
      }
    }
  }
  shape.is_sandboxed = options.is_sandboxed;
  TRY(read_kernel(campaign, path));
  // There are at most twice as many finalists as survivors.
  shape.timing.finalists = std::min(shape.variants(), 2 * shape.pipeline.select.capacity());
  if (campaign.shape.pipeline.time.budget > 0) {
    shape.timing = within_budget(shape.timing, campaign.shape.pipeline.time.budget,
                                 shape.variants(), shape.bench_cases.size());
  }
  shape.step_sources = step_sources([&](const std::string& file) -> std::optional<std::string> {
    auto source = world::read_file(campaign.rules + "/" + file);
    return source ? std::optional(*std::move(source)) : std::nullopt;
  });
  return campaign;
}

CampaignOptions reopening(CampaignOptions options, const Campaign& campaign) {
  options.pipeline = absolute(campaign.path);
  options.state = absolute(campaign.state);
  return options;
}

Result<std::unique_ptr<Graph>> write_manifest(const Campaign& campaign,
                                              const std::string& toolchain) {
  world::DiskFiles files;
  TRY(files.make_folders(campaign.work));
  TRY(files.write(campaign.rounds(), write_rounds(campaign.shape)));
  return read_manifest(campaign, toolchain);
}

Status check_bindings(const Campaign& campaign) {
  if (!campaign.device_kind.empty() && !is_plain_word(campaign.device_kind)) {
    return bad_input(
        fmt::format("{}: $device_kind is '{}': only letters, digits and _-./+,@: are allowed",
                    campaign.path.empty() ? campaign.name : campaign.path,
                    plain_line(campaign.device_kind)),
        "", "cluster.pools in the pipeline names the device kind");
  }
  for (const MachineBinding& binding : campaign.machine()) {
    TRY(check_path(binding.value, campaign.path));
    if (is_utf8(absolute(binding.value))) continue;
    return bad_input(fmt::format("{}: '{}': JAX needs folder names in UTF-8",
                                 shown_path(campaign.path), plain_line(absolute(binding.value))),
                     "", "rename the folder, or use another state folder with --state FOLDER");
  }
  return {};
}

Result<std::unique_ptr<Graph>> read_manifest(const Campaign& campaign,
                                             const std::string& toolchain) {
  TRY(check_bindings(campaign));
  world::DiskFiles files;
  std::string text = fmt::format(
      "# This machine's paths, and the campaign's graph. From the project's root:\n"
      "#   ninja -f {} round-1\n",
      path_word(plain_line(campaign.manifest())));
  bool needs_newline = false;
  std::string bindings;
  for (const MachineBinding& binding : campaign.machine()) {
    needs_newline = needs_newline || binding.value.find('\n') != std::string::npos;
    bindings += fmt::format("{} = {}\n{}_word = {}\n", binding.name, path_value(binding.value),
                            binding.name, path_word(binding.value));
  }
  if (needs_newline) text += "ninja_required_version = 1.14\n";
  text += bindings;
  if (!campaign.device_kind.empty()) {
    text += fmt::format("device_kind = {}\n", campaign.device_kind);
  }
  text += fmt::format("toolchain = {}\ninclude $rules/steps.ninja\ninclude $work/rounds.ninja\n",
                      toolchain);
  TRY(files.write(campaign.manifest(), text));
  auto graph = std::make_unique<Graph>();
  TRY(parse_manifest(campaign.manifest(), world::load_text, *graph));
  return graph;
}

}  // namespace evolve
