#include "engine/campaign/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <type_traits>

#include "engine/core/path.h"
#include "engine/core/yaml/yaml_source.h"
#include "engine/search/selection/population.h"
#include "engine/search/space/sampler.h"

namespace evolve {

namespace {

constexpr int kMostRounds = 1000;
constexpr int kMostVariants = 1000;
constexpr int kMostSeconds = 30 * 24 * 3600;

// The most edges of a batch: a pod's termination message needs a line for each (k8s/README.md).
constexpr int kMostBatch = 48;
constexpr int kMostJobs = 10'000;
// Steps that a pod may run, because they read and write only files that can be sent to a pod.
constexpr std::array kNodeSteps = {"lower",   "contract", "check", "interpret",
                                   "compile", "analyze",  "trace", "time",
                                   "measure", "expect",   "audit", "values"};

// Steps whose time a pipeline may limit.
constexpr std::array kLimitedSteps = {"check", "interpret", "values"};
constexpr int kLeastLimit = 10;

constexpr std::array kMutators = {"sweep", "rewrite", "llm", "person"};
constexpr int kMostWeight = 1000;
// A key of other Glaucis versions. A pipeline may have the key, but it has no effect.
struct OldKey {
  const char* section;  // empty: the key is a section of its own
  const char* key;
};
constexpr std::array<OldKey, 12> kOldKeys = {{
    {"", "evolution"},
    {"", "llm"},
    {"", "logging"},
    {"", "tuning_params"},
    {"", "hardware"},
    {"", "constraints"},
    {"batch", "diversity_directions"},
    {"evaluator", "type"},
    {"tpu", "tpu_type"},
    {"tpu", "namespace"},
    {"tpu", "image"},
    {"tpu", "timeout"},
}};

class PipelineReader {
 public:
  explicit PipelineReader(const YamlSource& source) : source_(source), errors_(source) {}

  Result<Pipeline> read() {
    YamlMap root(errors_, &source_.root(), "");
    if (source_.root().kind == YamlNode::Kind::null) errors_.add({}, "expected a map, got nothing");
    read_kernel(root);
    read_shapes(root);
    read_judge(root);
    read_cluster(root);
    read_rounds(root);
    read_search(root);
    read_toolchain(root);
    accept_old(root, "");
    root.finish();
    if (auto status = errors_.status(); !status) return status.error();
    std::stable_sort(notices_.begin(), notices_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first.line, a.first.column) < std::tie(b.first.line, b.first.column);
    });
    for (auto& [at, text] : notices_) pipeline_.notices.push_back(std::move(text));
    return std::move(pipeline_);
  }

 private:
  void notice(Position at, const std::string& what) {
    notices_.emplace_back(at, source_.notice_at(at, what));
  }

  // Accepts the old keys of a section, each with a notice.
  void accept_old(YamlMap& map, std::string_view section) {
    for (const OldKey& old : kOldKeys) {
      if (section != old.section || !map.has(old.key)) continue;
      map.accept(old.key);
      notice(map.key_at(old.key),
             fmt::format("'{}' belongs to another version of Glaucis and has no effect here",
                         map.full_name(old.key)));
    }
  }

  void read_kernel(YamlMap& root) {
    YamlMap kernel = root.section("kernel", Need::required);
    if (!root.has("kernel")) return;
    Need need = kernel.has("spec") ? Need::optional : Need::required;
    kernel.text("name", pipeline_.kernel.name, Need::required);
    kernel.text("spec", pipeline_.kernel.spec);
    kernel.text("template", pipeline_.kernel.template_path, need);
    kernel.text("reference", pipeline_.kernel.reference_path, need);
    // `markers` comes first. If both are given, `evolve_markers` overrides it, as in Glaucis.
    for (const char* key : {"markers", "evolve_markers"}) {
      YamlMap markers = kernel.section(key);
      markers.text("start", pipeline_.kernel.marker_start);
      markers.text("end", pipeline_.kernel.marker_end);
      markers.finish();
    }
    if (kernel.has("markers") && kernel.has("evolve_markers")) {
      notice(kernel.key_at("markers"),
             "'kernel.markers' and 'kernel.evolve_markers' are both given; the "
             "latter is used");
    }
    for (const std::string& marker : {pipeline_.kernel.marker_start, pipeline_.kernel.marker_end}) {
      if (!marker.empty() && marker.find_first_of("\r\n") == std::string::npos) continue;
      errors_.add(kernel.key_at("evolve_markers"),
                  "an evolve marker is empty or has several lines");
    }
    kernel.finish();
  }

  void read_shapes(YamlMap& root) {
    // Glaucis requires shapes. Here the spec's cases replace them.
    const YamlNode* kernel = source_.root().find("kernel");
    bool has_spec = kernel != nullptr && kernel->find("spec") != nullptr;
    const YamlNode* shapes = root.list("shapes", has_spec ? Need::optional : Need::required);
    if (shapes == nullptr) return;
    for (const YamlNode& item : shapes->items) {
      if (item.kind != YamlNode::Kind::map) {
        errors_.add(item.at, fmt::format("shapes: expected maps, got {}", describe(item)));
        continue;
      }
      pipeline_.shapes.push_back(read_shape(item));
    }
    if (has_spec && !shapes->items.empty()) {
      notice(root.key_at("shapes"),
             "'shapes' has no effect with 'kernel.spec', whose cases are used");
    }
  }

  Pipeline::Shape read_shape(const YamlNode& item) {
    Pipeline::Shape shape;
    for (const YamlEntry& entry : item.entries) {
      bool is_value =
          entry.value.kind == YamlNode::Kind::scalar || entry.value.kind == YamlNode::Kind::null;
      if (!is_value) {
        errors_.add(entry.value.at, fmt::format("shapes: {}: expected a value, got {}", entry.key,
                                                describe(entry.value)));
      }
      shape.emplace_back(entry.key, entry.value.text);
    }
    return shape;
  }

  void read_judge(YamlMap& root) {
    YamlMap correctness = root.section("correctness");
    correctness.choice("method", pipeline_.correctness.method, {"allclose"});
    correctness.number("rtol", pipeline_.correctness.rtol, 0);
    correctness.number("atol", pipeline_.correctness.atol, 0);
    correctness.finish();
    if (root.has("correctness") && !pipeline_.kernel.spec.empty()) {
      notice(root.key_at("correctness"),
             "'correctness' has no effect with 'kernel.spec', whose tolerance is used");
    }
  }

  void read_toolchain(YamlMap& root) {
    YamlMap toolchain = root.section("toolchain");
    toolchain.text("python", pipeline_.toolchain.python);
    toolchain.finish();
  }

  void read_cluster(YamlMap& root) {
    YamlMap evaluator = root.section("evaluator");
    evaluator.text("namespace", pipeline_.evaluator.kubernetes_namespace);
    evaluator.text("job_template", pipeline_.evaluator.job_template);
    evaluator.text("repo", pipeline_.evaluator.repo);
    evaluator.text("branch", pipeline_.evaluator.branch);
    evaluator.whole("poll_interval", pipeline_.evaluator.poll_interval, 1, kMostSeconds);
    evaluator.whole("timeout", pipeline_.evaluator.timeout, 1, kMostSeconds);
    accept_old(evaluator, "evaluator");
    evaluator.finish();
    YamlMap tpu = root.section("tpu");
    Need need = root.has("tpu") ? Need::required : Need::optional;
    tpu.text("cluster", pipeline_.tpu.cluster, need);
    tpu.text("zone", pipeline_.tpu.zone, need);
    accept_old(tpu, "tpu");
    tpu.finish();
    read_nodes(root);
  }

  void read_nodes(YamlMap& root) {
    Pipeline::Cluster& out = pipeline_.cluster;
    YamlMap cluster = root.section("cluster");
    cluster.text("context", out.context);
    const YamlNode* evaluator = source_.root().find("evaluator");
    if (evaluator != nullptr && evaluator->find("namespace") != nullptr) {
      out.space = pipeline_.evaluator.kubernetes_namespace;
    }
    cluster.text("namespace", out.space);
    cluster.text("store", out.store, root.has("cluster") ? Need::required : Need::optional);
    cluster.text("image", out.image);
    cluster.text("queue", out.queue);
    cluster.text("priority_class", out.priority_class);
    const YamlNode* pools =
        cluster.map("pools", root.has("cluster") ? Need::required : Need::optional);
    if (pools != nullptr) {
      for (const YamlEntry& entry : pools->entries) read_pool(entry);
    }
    cluster.finish();
  }

  void read_pool(const YamlEntry& entry) {
    Pipeline::PodPool pool;
    pool.name = entry.key;
    const bool is_name =
        !pool.name.empty() &&
        pool.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!is_name) {
      errors_.add(
          entry.at,
          fmt::format("cluster.pools: '{}' is not a valid name, for example tpu-7x", entry.key));
    }
    YamlMap map(errors_, &entry.value, "cluster.pools." + pool.name, entry.at);
    map.texts("steps", pool.steps, Need::required);
    for (const std::string& step : pool.steps) {
      if (std::find(kNodeSteps.begin(), kNodeSteps.end(), step) == kNodeSteps.end()) {
        errors_.add(map.value_at("steps"),
                    fmt::format("{}: nodes cannot run '{}'; one of: {}", map.full_name("steps"),
                                step, fmt::join(kNodeSteps, ", ")));
      }
      for (const Pipeline::PodPool& other : pipeline_.cluster.pools) {
        const auto& its = other.steps;
        if (std::find(its.begin(), its.end(), step) == its.end()) continue;
        errors_.add(map.value_at("steps"), fmt::format("{}: '{}' already belongs to the pool '{}'",
                                                       map.full_name("steps"), step, other.name));
      }
    }
    const bool has_template = source_.root().find("evaluator") != nullptr &&
                              source_.root().find("evaluator")->find("job_template") != nullptr;
    if (has_template) pool.job_template = pipeline_.evaluator.job_template;
    map.text("template", pool.job_template, has_template ? Need::optional : Need::required);
    map.text("device_kind", pool.device_kind);
    if (!pool.device_kind.empty() && !is_plain_word(pool.device_kind)) {
      errors_.add(map.value_at("device_kind"),
                  fmt::format("{}: '{}': only letters, digits and _-./+,@: are allowed",
                              map.full_name("device_kind"), pool.device_kind));
    }
    map.whole("batch", pool.batch, 1, kMostBatch);
    map.whole("jobs", pool.jobs, 1, kMostJobs);
    map.whole("at_once", pool.at_once, 1, kMostBatch);
    map.finish();
    pipeline_.cluster.pools.push_back(std::move(pool));
  }

  void read_rounds(YamlMap& root) {
    YamlMap session = root.section("session");
    session.whole("max_iterations", pipeline_.session.max_iterations, 1, kMostRounds);
    session.text("output_dir", pipeline_.session.output_dir);
    session.text("until", pipeline_.session.until);
    session.finish();
    YamlMap batch = root.section("batch");
    batch.whole("variants_per_round", pipeline_.batch.variants_per_round, 1, kMostVariants);
    search::SelectionRule& rule = pipeline_.select;
    batch.whole("top_k", rule.top_k, 1, kMostVariants);
    batch.whole("max_active_lineages", rule.most_lineages, 1, kMostVariants);
    accept_old(batch, "batch");
    batch.finish();
    YamlMap select = root.section("select");
    int top_k = rule.top_k;
    select.whole("top_k", top_k, 1, kMostVariants);
    if (batch.has("top_k") && select.has("top_k") && top_k != rule.top_k) {
      errors_.add(select.value_at("top_k"),
                  fmt::format("select.top_k: {}, but batch.top_k is {}; give only one of them",
                              top_k, rule.top_k));
    }
    read_policy(select);
    select.finish();
    const int most = rule.most_lineages;
    if (top_k > most && (batch.has("top_k") || select.has("top_k"))) {
      notice(
          batch.has("top_k") ? batch.key_at("top_k") : select.key_at("top_k"),
          fmt::format(
              "'top_k' is {}, but 'batch.max_active_lineages' is {}; {} lineages survive a round",
              top_k, most, most));
    }
    rule.top_k = std::min(top_k, most);
    if (rule.policy == "islands" && rule.capacity() > kMostVariants) {
      errors_.add(select.key_at("islands"),
                  fmt::format("select.islands: {} islands of {} survivors each are more than {}",
                              rule.islands, rule.top_k, kMostVariants));
    }
  }

  void read_policy(YamlMap& select) {
    search::SelectionRule& rule = pipeline_.select;
    select.choice("policy", rule.policy, search::policy_names());
    std::string ties = "interval";
    select.choice("ties", ties, {"interval", "point"});
    rule.by_point = ties == "point";
    search::visit_settings(rule, [&](const search::RuleSetting& setting, auto& value) {
      if constexpr (std::is_same_v<decltype(value), int&>) {
        if (setting.most == 0) return;
        select.whole(setting.name, value, 1, setting.most);
        if (!select.has(setting.name) || rule.policy == setting.policy) return;
        notice(select.key_at(setting.name),
               fmt::format("'select.{}' has no effect: the policy is '{}'", setting.name,
                           rule.policy));
      }
    });
  }

  void read_search(YamlMap& root) {
    read_target(root);
    read_mutate(root);
    YamlMap learn = root.section("learn");
    learn.text("file", pipeline_.learn.file);
    learn.number("effect", pipeline_.learn.effect, 0);
    learn.finish();
    read_compile(root);
    read_limits(root);
    YamlMap time = root.section("time");
    time.choice("kind", pipeline_.time.kind, {"modelled", "measured"});
    std::vector<std::string> devices;
    for (const Measured& one : pipeline_.target->measured_on) devices.emplace_back(one.device);
    pipeline_.time.device = devices.front();
    time.choice("device", pipeline_.time.device, devices);
    time.number("budget", pipeline_.time.budget, 1);
    time.text("constants", pipeline_.time.constants);
    time.texts("cases", pipeline_.time.cases);
    if (time.has("cases") && pipeline_.time.cases.empty())
      errors_.add(time.value_at("cases"), "time.cases: no case is named");
    if (time.has("first_cut")) {
      pipeline_.time.first_cut = 0;
      time.number("first_cut", *pipeline_.time.first_cut, 0);
    }
    for (const char* key : {"device", "budget", "first_cut"}) {
      if (time.has(key) && pipeline_.time.kind != "measured") {
        notice(time.key_at(key), fmt::format("'time.{}' has no effect: the time is modelled", key));
      }
    }
    time.finish();
  }

  void read_target(YamlMap& root) {
    std::string name(pipeline_.target->name);
    root.text("target", name);
    if (auto target = find_target(name)) {
      pipeline_.target = *target;
    } else {
      errors_.add(root.value_at("target"), target.error().message);
    }
  }

  void read_mutate(YamlMap& root) {
    Pipeline::Mutate& out = pipeline_.mutate;
    YamlMap mutate = root.section("mutate");
    std::string mutator = out.mix.front().name;
    mutate.choice("mutator", mutator, {kMutators.begin(), kMutators.end()});
    out.mix = {{.name = mutator, .weight = 1}};
    read_mix(mutate);
    mutate.whole("opening", out.opening, 0, kMostRounds);
    mutate.choice("sampler", out.sampler, search::sampler_names());
    read_llm(mutate);
    mutate.text("proposals", out.proposals);
    if (mutate.has("proposals") && !has_mutator("person") && out.opening == 0 &&
        out.plan != "approve") {
      notice(mutate.key_at("proposals"),
             "'mutate.proposals' has no effect: people propose no variants");
    }
    int64_t random_seed = 0;
    mutate.whole("random_seed", random_seed, int64_t{0}, std::numeric_limits<int64_t>::max());
    out.random_seed = static_cast<uint64_t>(random_seed);
    mutate.number("explore", out.explore, 0);
    if (out.explore > 1) {
      errors_.add(mutate.value_at("explore"),
                  fmt::format("mutate.explore: expected at most 1, got {}", out.explore));
    }
    read_least_distance(mutate);
    mutate.finish();
  }

  void read_least_distance(YamlMap& mutate) {
    if (!mutate.has("least_distance")) return;
    double least = 0.5;
    mutate.number("least_distance", least, 0);
    if (least <= 0 || least >= 1) {
      errors_.add(
          mutate.value_at("least_distance"),
          fmt::format("mutate.least_distance: expected a share between 0 and 1, got {}", least));
    }
    pipeline_.mutate.least_distance = least;
  }

  [[nodiscard]] bool has_mutator(const std::string& name) const {
    const auto& mix = pipeline_.mutate.mix;
    return std::any_of(mix.begin(), mix.end(),
                       [&](const auto& share) { return share.name == name; });
  }

  void read_llm(YamlMap& mutate) {
    Pipeline::Mutate& out = pipeline_.mutate;
    mutate.text("llm", out.llm);
    const bool asks = has_mutator("llm");
    if (asks && !mutate.has("llm")) {
      errors_.add_missing(
          mutate.key_at(mutate.has("mix") ? "mix" : "mutator"),
          "mutate.llm: the mutator 'llm' needs the path of a file that configures models");
    }
    if (!asks && mutate.has("llm"))
      notice(mutate.key_at("llm"), "'mutate.llm' has no effect: models propose no variants");
    mutate.choice("plan", out.plan, {"none", "auto", "approve"});
    if (!asks && mutate.has("plan"))
      errors_.add(mutate.key_at("plan"), "mutate.plan: models propose no variants");
  }

  // Reads a map such as "mix: { sweep: 3, rewrite: 1 }".
  void read_mix(YamlMap& mutate) {
    YamlMap mix = mutate.section("mix");
    if (!mutate.has("mix")) return;
    if (mutate.has("mutator")) {
      errors_.add(mutate.key_at("mix"),
                  "mutate.mix: 'mutate.mutator' is given, too; give only one of them");
    }
    auto& out = pipeline_.mutate.mix;
    out.clear();
    size_t named = 0;
    for (const char* name : kMutators) {
      int weight = 0;
      named += mix.has(name) ? 1 : 0;
      mix.whole(name, weight, 0, kMostWeight);
      if (weight > 0) out.push_back({.name = name, .weight = weight});
    }
    mix.finish();
    // An unknown name has caused an error already. That error explains why no mutator has a weight,
    // so this one is left out.
    const YamlNode* node = mutate.map("mix");
    if (out.empty() && node != nullptr && named == node->entries.size())
      errors_.add(mutate.value_at("mix"), "mutate.mix: no mutator has a weight");
  }

  void read_limits(YamlMap& root) {
    YamlMap limits = root.section("limits");
    for (const char* step : kLimitedSteps) {
      int seconds = 0;
      limits.whole(step, seconds, kLeastLimit, kMostSeconds);
      if (seconds > 0) pipeline_.limits[step] = seconds;
    }
    limits.finish();
  }

  void read_compile(YamlMap& root) {
    YamlMap compile = root.section("compile");
    compile.texts("flags", pipeline_.compile.flags);
    for (const std::string& flag : pipeline_.compile.flags) {
      constexpr std::string_view kCharacters =
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=.:/+-";
      const bool is_flag = flag.starts_with("--") && flag.size() > 2 &&
                           flag.find_first_not_of(kCharacters) == std::string::npos;
      if (!is_flag) {
        errors_.add(
            compile.value_at("flags"),
            fmt::format("compile.flags: '{}' is not a flag, for example --xla_name=value", flag));
      } else if (flag.starts_with("--xla_jf_dump") || flag.starts_with("--xla_dump")) {
        errors_.add(compile.value_at("flags"),
                    fmt::format("compile.flags: '{}': evolve sets the flags for dumps", flag));
      }
    }
    compile.finish();
  }

  const YamlSource& source_;
  YamlErrors errors_;
  std::vector<std::pair<Position, std::string>> notices_;
  Pipeline pipeline_;
};

}  // namespace

Result<Pipeline> parse_pipeline(std::string_view text, const std::string& path) {
  TRY_ASSIGN(auto source, YamlSource::parse(text, path));
  TRY_ASSIGN(auto pipeline, PipelineReader(source).read());
  pipeline.source = digest_of(text);
  return pipeline;
}

}  // namespace evolve
