// A benchmark of one process that has many Jobs on a cluster. It measures the memory and the share
// of a core that the process needs, and the time from the cluster's report of a finished pod to the
// arrival of its result. Usage, as in tests/bench/cluster.sh:
//
//   cluster_bench STORE TEMPLATE JOBS AT_ONCE    $KUBECONFIG: the cluster; namespace "evolve"
//
// Each Job has one command, which writes the time at which it ended. The nodes are processes of
// this machine, so they share our clock. The benchmark sees the pods through a watch of its own. It
// works in the current folder.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cache/remote_store.h"
#include "engine/app/elsewhere/cluster.h"
#include "engine/app/elsewhere/remote.h"
#include "engine/world/clock.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/runner.h"
#include "k8s/dispatcher.h"
#include "k8s/runner.h"
#include "k8s/watch.h"

using namespace evolve;

namespace {

constexpr double kTickSeconds = 0.5;

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "cluster_bench: {}\n", why);
  std::exit(1);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) die(result.error().message);
  return *std::move(result);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double core_seconds() {
  rusage use = {};
  ::getrusage(RUSAGE_SELF, &use);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double peak_megabytes() {
  rusage use = {};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1024;
}

// The times at which the cluster first reported pods as ended, by the key of a pod's order. The
// watch runs in a thread of its own.
class Ends {
 public:
  explicit Ends(Cluster& cluster)
      : cluster_(cluster),
        watch_(cluster.watching(), "/api/v1/namespaces/evolve/pods",
               fmt::format("{}={}", k8s::label::kManagedBy, k8s::label::kEvolve),
               {[this](const nlohmann::json& pod) { see(pod); }, [](const std::string&) {},
                [](const std::string&) {}},
               world::patience().pause),
        thread_([this] { watch_.run(); }) {}
  ~Ends() {
    watch_.stop();
    cluster_.stop_watching();
    thread_.join();
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  // Returns the time at which the end of an order's pod was reported; `now`: not reported yet.
  double of(const std::string& key, double now) {
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(key);
    return found == times_.end() ? now : found->second;
  }

 private:
  void see(const nlohmann::json& pod) {
    if (!k8s::pod_state(pod).has_ended()) return;
    const std::lock_guard lock(mutex_);
    times_.emplace(pod["metadata"]["labels"].value(k8s::label::kKey, ""), wall_seconds());
  }

  Cluster& cluster_;
  k8s::Watch watch_;
  std::mutex mutex_;  // guards times_
  std::map<std::string, double> times_;
  std::thread thread_;
};

std::string output_of(uint64_t id) {
  return fmt::format("out/{}", id);
}

Command command_of(uint64_t id, const std::string& run) {
  Command out;
  out.id = id;
  out.line = fmt::format("date +%s.%N >{}", output_of(id));
  out.timeout_seconds = 60;
  Errand errand;
  errand.node_pool = "cpu";
  errand.key = digest_of(fmt::format("{} {}", run, id));
  errand.subject = fmt::format("bench {}", id);
  errand.outputs = {output_of(id)};
  out.errand = std::move(errand);
  return out;
}

double percentile(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  const auto at = static_cast<size_t>(std::ceil(share * static_cast<double>(times.size())));
  return times.at(std::max<size_t>(at, 1) - 1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) die("usage: cluster_bench STORE TEMPLATE JOBS AT_ONCE");
  const auto jobs = static_cast<uint64_t>(std::atoi(arguments[3]));
  const int at_once = std::atoi(arguments[4]);

  world::SystemClock clock;
  world::DiskFiles files;
  auto guard = value_of(world::GuardProcess::start());
  world::LocalRunner local(guard, clock);
  auto cluster = value_of(Cluster::open({"", "", "evolve"}));
  auto address = value_of(remote_address({arguments[1], false, 10}));
  if (!address) die("no store is named");
  const auto http = remote_http({}, *address);
  cache::RemoteStore store(*http, files, *address, world::patience());
  k8s::DispatcherSettings settings;
  settings.space = "evolve";
  k8s::PodPool pool;
  pool.most_jobs = at_once;
  pool.job.template_path = arguments[2];
  pool.job.template_text = value_of(world::read_file(arguments[2]));
  pool.job.space = settings.space;
  pool.job.image = "evolve-test";
  pool.job.store = arguments[1];
  settings.pools.emplace("cpu", pool);
  const std::string run = fmt::format("{}", wall_seconds());
  settings.labels = {{k8s::label::kManagedBy, k8s::label::kEvolve},
                     {k8s::label::kOwner, digest_of("bench").hex()},
                     {k8s::label::kSession, digest_of(run).hex()}};
  settings.is_dead = [](const std::string&) { return true; };
  k8s::Dispatcher dispatcher(cluster->api(), store, files, clock, settings);
  k8s::PodRunner runner(
      local, dispatcher, cluster->watching(), settings.space, [&] { cluster->stop_watching(); },
      clock, world::patience().pause);

  auto observed = value_of(Cluster::open({"", "", "evolve"}));
  Ends ends(*observed);

  const double start = clock.monotonic_seconds(), core_start = core_seconds();
  std::vector<double> reactions, from_end;
  std::set<uint64_t> done;
  uint64_t next = 0;
  // A build, too, gives a pool twice as many edges as run at a time (BuildPods::places()).
  const uint64_t places = 2 * static_cast<uint64_t>(at_once);
  while (done.size() < jobs) {
    while (next < jobs && next - done.size() < places) {
      if (auto status = runner.start(command_of(next++, run)); !status) die(status.error().message);
    }
    auto event = value_of(runner.wait(kTickSeconds));
    const auto* completed = std::get_if<Completed>(&event);
    if (completed == nullptr) continue;
    if (completed->exit_status != 0) die(completed->output);
    const double ended = std::atof(value_of(world::read_file(output_of(completed->id))).c_str());
    const double now = wall_seconds();
    from_end.push_back(now - ended);
    reactions.push_back(now - ends.of(command_of(completed->id, run).errand->key.hex(), now));
    if (!done.insert(completed->id).second) die("a command completed twice");
  }
  const double seconds = clock.monotonic_seconds() - start;
  const double core = (core_seconds() - core_start) / seconds;
  runner.stop();
  fmt::print(
      "evolve: {} Jobs in {:.0f} s ({:.1f}/s): {:.0f} MB, {:.1f} % of a core\n"
      "from a pod's end, as told by the cluster, to its result here: p50 {:.2f} s, p99 {:.2f} s\n"
      "from the command's own end: p50 {:.2f} s, p99 {:.2f} s\n",
      jobs, seconds, static_cast<double>(jobs) / seconds, peak_megabytes(), 100 * core,
      percentile(reactions, 0.5), percentile(reactions, 0.99), percentile(from_end, 0.5),
      percentile(from_end, 0.99));
}
