#include "engine/app/elsewhere/build_pods.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "engine/app/campaign.h"
#include "engine/app/elsewhere/remote.h"
#include "engine/app/machine.h"
#include "engine/core/digest.h"
#include "engine/world/files.h"
#include "engine/world/http.h"

namespace evolve {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A pool gets this many times as many edges as its Jobs can hold, so that no pod waits for its next
// edge.
constexpr int kPlacesPerRunning = 2;

// Returns a name that no other process on this machine has had for this state folder.
Digest session_of(const State& state, Clock& clock) {
  return digest_of(
      fmt::format("{} {} {} {}", state.folder, ::getpid(), clock.utc(), clock.monotonic_seconds()));
}

Result<std::string> read_template(const Campaign& campaign, const std::string& path) {
  const fs::path place = fs::path(campaign.path).parent_path() / path;
  auto text = world::read_file(place.lexically_normal().string());
  if (!text) {
    return bad_input(fmt::format("{}: cluster.pools: the template: {}", shown_path(campaign.path),
                                 text.error().message),
                     "", "k8s/tpu-job.yaml is an example");
  }
  return text;
}

Result<k8s::PodPool> read_pool(const Campaign& campaign, const Pipeline::PodPool& pool,
                               const std::string& space) {
  const Pipeline::Cluster& cluster = campaign.shape.pipeline.cluster;
  TRY_ASSIGN(auto text, read_template(campaign, pool.job_template));
  k8s::PodPool out;
  out.batch = pool.batch;
  out.most_jobs = pool.jobs;
  k8s::JobSettings& job = out.job;
  job.template_path = pool.job_template;
  job.template_text = std::move(text);
  job.space = space;
  job.image = cluster.image;
  job.store = cluster.store;
  job.queue = cluster.queue;
  job.priority_class = cluster.priority_class;
  job.repo = campaign.shape.pipeline.evaluator.repo;
  job.branch = campaign.shape.pipeline.evaluator.branch;
  job.order_seconds = campaign.shape.pipeline.evaluator.timeout;
  job.at_once = pool.at_once;
  // Makes one Job on trial, so that a broken template is reported before anything runs.
  TRY(k8s::make_job(job, "evolve", {std::string(64, '0')}, {}));
  return out;
}

}  // namespace

BuildPods::BuildPods(const Campaign& campaign, State& state, std::unique_ptr<Cluster> cluster,
                     const cache::RemoteAddress& store, k8s::DispatcherSettings settings)
    : cluster_(std::move(cluster)),
      clock_(state.clock),
      sessions_(state.folder + "/claims"),
      others_(state.folder + "/claims"),
      http_(remote_http({}, store)),
      store_(*http_, files_, store, world::patience()),
      pools_(settings.pools),
      space_(settings.space),
      dispatcher_(cluster_->api(), store_, files_, clock_, [&] {
        const Digest session = session_of(state, clock_);
        (void)sessions_.claim(session);
        settings.labels = {
            {k8s::label::kManagedBy, k8s::label::kEvolve},
            {k8s::label::kCampaign, k8s::label_value(campaign.name)},
            {k8s::label::kOwner,
             digest_of(machine_name() + " " + fs::absolute(state.folder).string()).hex()},
            {k8s::label::kSession, session.hex()}};
        settings.is_dead = [this](const std::string& other) { return is_dead(other); };
        return std::move(settings);
      }()) {}

Result<std::unique_ptr<BuildPods>> BuildPods::open(const Campaign& campaign, State& state) {
  if (campaign.shape.pod_pools.empty()) return std::unique_ptr<BuildPods>();
  const Pipeline::Cluster& wanted = campaign.shape.pipeline.cluster;
  TRY_ASSIGN(auto cluster, Cluster::open({"", wanted.context, wanted.space}));
  auto store = remote_address({wanted.store, false, 10});
  if (!store) return std::move(store).error().within("cluster.store");
  k8s::DispatcherSettings settings;
  settings.space = cluster->access().space;
  settings.machine = campaign.machine();
  settings.logs = state.folder + "/log/nodes";
  for (const Pipeline::PodPool& pool : wanted.pools) {
    TRY_ASSIGN(auto its, read_pool(campaign, pool, settings.space));
    settings.pools.emplace(pool.name, std::move(its));
  }
  return std::unique_ptr<BuildPods>(
      new BuildPods(campaign, state, std::move(cluster), **store, std::move(settings)));
}

bool BuildPods::is_dead(const std::string& session) {
  const auto digest = Digest::from_hex(session);
  if (!digest) return false;
  auto is_free = others_.claim(*digest);
  if (is_free && *is_free) others_.release(*digest);
  return is_free && *is_free;
}

void BuildPods::start(Runner& local) {
  runner_ = std::make_unique<k8s::PodRunner>(
      local, dispatcher_, cluster_->watching(), space_, [this] { cluster_->stop_watching(); },
      clock_, world::patience().pause);
}

Resources BuildPods::places() const {
  Resources out;
  for (const auto& [name, pool] : pools_) {
    out[place_in(name)] = kPlacesPerRunning * pool.batch * pool.most_jobs;
  }
  return out;
}

k8s::ClusterState BuildPods::state() {
  return runner_->state();
}

std::vector<std::string> BuildPods::warnings() const {
  if (dispatcher_.faults() == 0) return {};
  return {fmt::format("nodes: {} pods failed or were stopped; their commands ran again",
                      dispatcher_.faults())};
}

json json_of(const std::map<std::string, PoolUse>& uses) {
  json out = json::object();
  for (const auto& [pool, use] : uses) {
    out[pool] = {{"pods", use.pods}, {"seconds", use.seconds}, {"chip_seconds", use.chip_seconds}};
  }
  return out;
}

json BuildPods::report() const {
  return {{"pools", json_of(dispatcher_.use())}, {"faults", dispatcher_.faults()}};
}

std::string BuildPods::text() const {
  std::string out;
  for (const auto& [name, use] : use()) {
    out += fmt::format("{} {} {} pods, {} s", out.empty() ? "        nodes:" : ";", name, use.pods,
                       std::lround(use.seconds));
    if (use.chip_seconds > 0)
      out += fmt::format(", {} chip-seconds", std::lround(use.chip_seconds));
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace evolve
