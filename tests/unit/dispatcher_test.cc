// Tests of the dispatcher against a cluster and a store in memory: which orders become Jobs, which
// orders never run twice, and what each kind of end leads to.
#include "k8s/dispatcher.h"

#include <nlohmann/json.hpp>

#include "engine/core/crypto/sha256.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using namespace evolve::k8s;
using namespace evolve::tests;
using nlohmann::json;

namespace {

// Objects by path, as an API server keeps them.
class FakeCluster : public Http {
 public:
  std::map<std::string, json> objects;
  std::vector<std::string> asked;  // "POST /apis/…/jobs"
  int status = 0;                  // status of every answer; 0: the correct status
  json refusal = json::object();
  int jobs_refused = 0;  // number of next Jobs that `refusal` refuses

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    std::vector<HttpResponse> out;
    for (const HttpRequest& request : requests) out.push_back(answer(request));
    return out;
  }
  void stop() override {}

  std::vector<std::string> names(const std::string& kind) const {
    std::vector<std::string> out;
    for (const auto& [path, object] : objects) {
      if (path.find("/" + kind + "/") != std::string::npos)
        out.push_back(object["metadata"]["name"]);
    }
    return out;
  }
  int count(const std::string& request) const {
    return static_cast<int>(std::count_if(asked.begin(), asked.end(), [&](const auto& one) {
      return one.find(request) != std::string::npos;
    }));
  }

 private:
  static HttpResponse response(int code, const json& body) {
    HttpResponse out;
    out.status = code;
    out.body = body.dump();
    return out;
  }

  HttpResponse answer(const HttpRequest& request) {
    const std::string path = request.url.substr(std::string("https://x").size());
    asked.push_back(std::string(method_name(request.method)) + " " + path);
    if (status != 0) return response(status, {{"message", "overloaded"}});
    switch (request.method) {
      case HttpRequest::Method::post: return create(path, json::parse(request.body));
      case HttpRequest::Method::patch: {
        if (!objects.contains(path)) return response(404, {{"message", "not found"}});
        json change = json::parse(request.body);
        json& object = objects.at(path);
        const json wanted = change["metadata"].value("resourceVersion", json());
        if (wanted.is_string() && wanted != object["metadata"]["resourceVersion"]) {
          return response(409, {{"message", "conflict"}});
        }
        object.merge_patch(change);
        object["metadata"]["resourceVersion"] = std::to_string(++version_);
        return response(200, object);
      }
      case HttpRequest::Method::remove:
        return response(objects.erase(path) > 0 ? 200 : 404, json::object());
      default: break;
    }
    const size_t query = path.find('?');
    if (query == std::string::npos) {
      return objects.contains(path) ? response(200, objects.at(path))
                                    : response(404, {{"message", "not found"}});
    }
    json items = json::array();
    for (const auto& [name, object] : objects) {
      if (name.starts_with(path.substr(0, query) + "/")) items.push_back(object);
    }
    return response(200, {{"items", items}});
  }

  HttpResponse create(const std::string& path, json object) {
    if (path.ends_with("/jobs") && jobs_refused > 0) {
      --jobs_refused;
      return response(403, refusal);
    }
    const std::string name = path + "/" + object["metadata"]["name"].get<std::string>();
    if (objects.contains(name)) return response(409, {{"message", "exists"}});
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    object["metadata"]["uid"] = "uid-" + std::to_string(version_);
    objects[name] = object;
    return response(201, object);
  }

  int version_ = 0;
};

class FakeStore : public Store {
 public:
  explicit FakeStore(FakeFiles& files) : files_(files) {}
  std::map<std::string, std::string> blobs;  // by SHA-256
  std::map<std::string, StoreEntry> kept;
  bool is_away = false;

  Result<std::vector<StoredFile>> put(std::span<const std::string> paths) override {
    if (is_away) return external("store: connection refused");
    std::vector<StoredFile> out;
    for (const std::string& path : paths) out.push_back(add(files_.files.at(path)));
    return out;
  }
  Status fetch(std::span<const WantedFile> files) override {
    if (is_away) return external("store: connection refused");
    for (const WantedFile& one : files) {
      if (!blobs.contains(one.file.sha256)) return failed("blob is not there");
      files_.files[one.path] = blobs.at(one.file.sha256);
    }
    return {};
  }
  Status put_entry(const std::string& name, const StoreEntry& record) override {
    kept[name] = record;
    return {};
  }
  Result<std::vector<std::optional<StoreEntry>>> records(
      std::span<const std::string> names) override {
    if (is_away) return external("store: connection refused");
    std::vector<std::optional<StoreEntry>> out;
    for (const std::string& name : names) {
      auto record = kept.find(name);
      out.push_back(record == kept.end() ? std::nullopt : std::optional(record->second));
    }
    return out;
  }
  StoredFile add(const std::string& text) {
    blobs[sha256(text)] = text;
    return {sha256(text), static_cast<int64_t>(text.size()), false};
  }

 private:
  FakeFiles& files_;
};

constexpr const char* kTemplate =
    "kind: Job\nspec: {template: {spec: {containers: [{name: agent, image: i}]}}}\n";
const std::string kJobs = "/apis/batch/v1/namespaces/lab/jobs";
const std::string kMaps = "/api/v1/namespaces/lab/configmaps";

// One machine that shares the cluster with other machines.
struct Side {
  FakeCluster& cluster;
  FakeStore& store;
  FakeFiles& files;
  FakeClock& clock;
  std::set<std::string> dead;
  Api api;
  Dispatcher dispatcher;

  Side(FakeCluster& a_cluster, FakeStore& a_store, FakeFiles& a_files, FakeClock& a_clock,
       const std::string& owner, const std::string& session, int batch = 1)
      : cluster(a_cluster),
        store(a_store),
        files(a_files),
        clock(a_clock),
        api(cluster, "https://x",
            {[](bool) -> Result<std::string> { return std::string(); },
             [this](double seconds) { clock.now += seconds; }}),
        dispatcher(api, store, files, clock, settings(owner, session, batch)) {}

  DispatcherSettings settings(const std::string& owner, const std::string& session, int batch) {
    DispatcherSettings out;
    out.space = "lab";
    PodPool pool;
    pool.job.template_path = "job.yaml";
    pool.job.template_text = kTemplate;
    pool.job.space = "lab";
    pool.batch = batch;
    pool.most_jobs = 100;
    out.pools["tpu"] = pool;
    out.machine = {{"work", "w"}};
    out.labels = {{label::kOwner, owner}, {label::kSession, session}};
    out.is_dead = [this](const std::string& other) { return dead.contains(other); };
    return out;
  }

  void add(uint64_t id) {
    const std::string name = "w/round-2/v" + std::to_string(id);
    files.files[name] = "input " + std::to_string(id);
    Command command;
    command.id = id;
    command.line = "run " + name;
    Errand errand;
    errand.node_pool = "tpu";
    errand.key = digest_of("action " + std::to_string(id));
    errand.subject = "measure v" + std::to_string(id);
    errand.inputs = {name};
    errand.outputs = {name + ".out"};
    errand.depfile = name + ".d";
    command.errand = errand;
    dispatcher.add(command);
  }

  // Takes turns for some seconds, and returns the completed commands.
  std::vector<Completed> turn(double seconds = 1) {
    std::vector<Completed> out;
    for (const double end = clock.now + seconds; clock.now < end; clock.now += 0.1) {
      for (Completed& one : dispatcher.turn()) out.push_back(std::move(one));
    }
    return out;
  }
};

struct Lab {
  FakeFiles files;
  FakeCluster cluster;
  FakeStore store{files};
  FakeClock clock;
  Side us{cluster, store, files, clock, "us", "s1"};

  // Runs a Job's orders as the node does: all orders, or the first `most`. Returns the pod's last
  // words.
  std::string run(const std::string& job, int exit_status = 0, size_t most = 99) {
    std::string words;
    for (const auto& [path, object] : cluster.objects) {
      if (!path.starts_with(kMaps) || object["data"]["job"] != job || most-- == 0) continue;
      auto order = decode_order(object["data"]["order"].get<std::string>());
      REQUIRE(order);
      Run run;
      run.order = order_name(*order);
      run.exit_status = exit_status;
      run.output = "said\n";
      run.node = "tpu-0";
      if (exit_status == 0) {
        run.files = {store.add("output of " + order->inputs[0].second.sha256)};
        run.discovered = {"$work/steps/y.py"};
      }
      const StoreEntry record = encode_run(run);
      store.kept[run_name(run.order, exit_status == 0 ? "" : job)] = record;
      words += run.order.substr(0, 12) + " " + sha256(record.text) + "\n";
    }
    return words;
  }
  static PodState pod(const std::string& job, const std::string& phase, const std::string& words) {
    PodState out;
    out.name = job + "-pod";
    out.uid = out.name;
    out.job = job;
    out.phase = phase;
    out.last_words = words;
    out.chips = 4;
    out.started = "2026-11-23T10:00:00Z";
    if (phase != "Running") out.finished = "2026-11-23T10:00:10Z";
    return out;
  }
  static JobState failed_job(const std::string& name, const std::string& reason) {
    JobState out;
    out.name = name;
    out.is_failed = true;
    out.reason = reason;
    return out;
  }
};

}  // namespace

TEST_CASE("an errand becomes a claim and a Job, and comes back with the node's results") {
  Lab lab;
  lab.us.add(1);
  CHECK(lab.us.turn().empty());
  const auto jobs = lab.cluster.names("jobs");
  REQUIRE(jobs.size() == 1);
  const json& job = lab.cluster.objects.at(kJobs + "/" + jobs[0]);
  CHECK(job["metadata"]["labels"][label::kRound] == "2");
  CHECK(job["metadata"]["labels"][label::kStep] == "measure");
  CHECK(job["metadata"]["labels"][label::kKey] == digest_of("action 1").hex());
  const auto claims = lab.cluster.names("configmaps");
  REQUIRE(claims.size() == 1);
  const json& claim = lab.cluster.objects.at(kMaps + "/" + claims[0]);
  CHECK(claim["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]);

  lab.us.dispatcher.see(Lab::pod(jobs[0], "Succeeded", lab.run(jobs[0])));
  const auto done = lab.us.turn();
  REQUIRE(done.size() == 1);
  CHECK(done[0].id == 1);
  CHECK(done[0].exit_status == 0);
  CHECK(done[0].output == "said\n");
  CHECK(done[0].machine == "tpu-0");
  CHECK(lab.files.files.at("w/round-2/v1.out") == "output of " + sha256("input 1"));
  CHECK(lab.files.files.at("w/round-2/v1.d") == "w/round-2/v1.out: w/steps/y.py\n");
  CHECK(lab.cluster.names("jobs").empty());
  CHECK_FALSE(lab.us.dispatcher.is_busy());
  CHECK(lab.us.dispatcher.use().at("tpu").chip_seconds == 40);
}

TEST_CASE("an order is not run if the store has its record") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  lab.run(lab.cluster.names("jobs")[0]);
  Side other(lab.cluster, lab.store, lab.files, lab.clock, "you", "s2");
  const int before = lab.cluster.count("POST");
  other.add(1);
  const auto done = other.turn();
  REQUIRE(done.size() == 1);
  CHECK(done[0].exit_status == 0);
  CHECK(lab.cluster.count("POST") == before);
}

TEST_CASE("errands of a pool share Jobs, and each comes back when it is done") {
  Lab lab;
  Side side(lab.cluster, lab.store, lab.files, lab.clock, "us", "s3", 2);
  for (uint64_t id = 1; id <= 5; ++id) side.add(id);
  side.turn();
  CHECK(lab.cluster.names("jobs").size() == 3);
  const std::string job = lab.cluster.names("jobs")[0];
  side.dispatcher.see(Lab::pod(job, "Running", ""));
  lab.run(job, 0, 1);
  CHECK(side.turn(3).size() == 1);
  side.dispatcher.see(Lab::pod(job, "Succeeded", lab.run(job)));
  CHECK(side.turn(3).size() <= 1);
  CHECK(lab.cluster.objects.count(kJobs + "/" + job) == 0);
}

TEST_CASE("an order that another's Job has is waited for, and not run again") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  const std::string job = lab.cluster.names("jobs")[0];
  Side you(lab.cluster, lab.store, lab.files, lab.clock, "you", "s2");
  you.add(1);
  CHECK(you.turn().empty());
  CHECK(lab.cluster.names("jobs").size() == 1);
  const std::string words = lab.run(job);
  JobState complete;
  complete.name = job;
  complete.is_complete = true;
  for (Side* side : {&lab.us, &you}) {
    side->dispatcher.see(Lab::pod(job, "Succeeded", words));
    side->dispatcher.see(complete);
    const auto done = side->turn(3);
    REQUIRE(done.size() == 1);
    CHECK(done[0].exit_status == 0);
  }
  // Only the owner of a Job reports its use.
  CHECK(you.dispatcher.use().empty());
}

TEST_CASE("a process that was killed finds its Jobs again, and unused Jobs are swept at the end") {
  Lab lab;
  lab.us.add(1);
  lab.us.add(2);
  lab.us.turn();
  REQUIRE(lab.cluster.names("jobs").size() == 2);
  Side again(lab.cluster, lab.store, lab.files, lab.clock, "us", "s2");
  again.dead = {"s1"};
  again.add(1);
  CHECK(again.turn().empty());
  CHECK(lab.cluster.count("POST " + kJobs) == 3);  // the third Job existed already
  REQUIRE(lab.cluster.names("jobs").size() == 2);
  std::string job;
  for (const std::string& name : lab.cluster.names("jobs")) {
    JobState sight;
    sight.name = name;
    sight.is_complete = true;
    const std::string words = lab.run(name);
    again.dispatcher.see(sight);
    again.dispatcher.see(Lab::pod(name, "Succeeded", words));
  }
  CHECK(again.turn(3).size() == 1);
  CHECK(again.dispatcher.clean_up());
  CHECK(lab.cluster.objects.empty());
}

TEST_CASE("the objects of a living process are not swept") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  Side other(lab.cluster, lab.store, lab.files, lab.clock, "us", "s2");
  CHECK(other.dispatcher.clean_up());
  CHECK(lab.cluster.names("jobs").size() == 1);
}

TEST_CASE(
    "a claim that has no Job is taken after a while, and at once where its process has ended") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  lab.cluster.objects.erase(kJobs + "/" + lab.cluster.names("jobs")[0]);
  SECTION("somebody else's") {
    Side you(lab.cluster, lab.store, lab.files, lab.clock, "you", "s2");

    you.add(1);
    you.turn(5);
    // `you` names a Job of only this order like the lost Job, so there is nothing to wait for.
    CHECK(lab.cluster.names("jobs").size() == 1);
  }
  SECTION("somebody else's, in another Job") {
    for (auto& [path, object] : lab.cluster.objects) object["data"]["job"] = "of-two";
    Side you(lab.cluster, lab.store, lab.files, lab.clock, "you", "s2");
    you.add(1);
    you.turn(kStaleSeconds - 10);
    CHECK(lab.cluster.names("jobs").empty());
    you.turn(20);
    CHECK(lab.cluster.names("jobs").size() == 1);
  }
  SECTION("ours, of a process that has ended") {
    Side again(lab.cluster, lab.store, lab.files, lab.clock, "us", "s2", 2);
    again.dead = {"s1"};
    again.add(1);
    again.add(2);
    again.turn(2);
    REQUIRE(lab.cluster.names("jobs").size() == 1);
    for (const auto& [path, object] : lab.cluster.objects) {
      if (path.starts_with(kMaps)) CHECK(object["data"]["job"] == lab.cluster.names("jobs")[0]);
    }
  }
}

TEST_CASE(
    "a Job that ended without a record is made again, under another name, where that may help") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  const std::string job = lab.cluster.names("jobs")[0];
  PodState pod = Lab::pod(job, "Failed", "");
  JobState sight = Lab::failed_job(job, "BackoffLimitExceeded");

  SECTION("somebody deleted it") {
    lab.us.dispatcher.see(Lab::failed_job(job, ""));
    lab.cluster.objects.erase(kJobs + "/" + job);
    lab.us.dispatcher.lose_job(job);
    CHECK(lab.us.turn(5).empty());
    CHECK(lab.cluster.names("jobs") == std::vector<std::string>{job + "-1"});
    CHECK(lab.us.dispatcher.faults() == 1);
  }
  SECTION("its pod was ended from outside") {
    pod.disruption = "TerminationByKubelet";
    lab.us.dispatcher.see(pod);
    lab.us.dispatcher.see(sight);
    CHECK(lab.us.turn(5).empty());
    CHECK(lab.cluster.names("jobs") == std::vector<std::string>{job + "-1"});
  }
  SECTION("its container needs more memory than there is") {
    pod.end_reason = "OOMKilled";
    pod.exit_code = 137;
    lab.us.dispatcher.see(pod);
    lab.us.dispatcher.see(sight);
    const auto done = lab.us.turn(5);
    REQUIRE(done.size() == 1);
    CHECK(done[0].exit_status == 125);
    CHECK(done[0].is_final);
    CHECK(done[0].output.find("more memory than its limit") != std::string::npos);
    CHECK(lab.cluster.names("jobs").empty());
  }
  SECTION("its orders are of no use") {
    pod.exit_code = kBadOrders;
    pod.last_words = "error: jax 0.10.2 is missing\n";
    lab.us.dispatcher.see(pod);
    sight.reason = "PodFailurePolicy";
    lab.us.dispatcher.see(sight);
    const auto done = lab.us.turn(5);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_final);
    CHECK(done[0].output.find("jax 0.10.2 is missing") != std::string::npos);
  }
  SECTION("it took too long") {
    lab.us.dispatcher.see(Lab::failed_job(job, "DeadlineExceeded"));
    const auto done = lab.us.turn(5);
    REQUIRE(done.size() == 1);
    CHECK(done[0].output.find("activeDeadlineSeconds") != std::string::npos);
  }
}

TEST_CASE("a failed command comes back with its failure, and other machines do not find it") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  const std::string job = lab.cluster.names("jobs")[0];
  lab.us.dispatcher.see(Lab::pod(job, "Succeeded", lab.run(job, 3)));
  const auto done = lab.us.turn();
  REQUIRE(done.size() == 1);
  CHECK(done[0].exit_status == 3);
  CHECK_FALSE(done[0].is_final);
  // An action that failed runs again if it is asked for again.
  lab.us.add(1);
  lab.us.turn(2);
  CHECK(lab.cluster.names("jobs").size() == 1);
}

TEST_CASE("a record counts only if the pod's last words name it") {
  Lab lab;
  lab.us.add(1);
  lab.us.turn();
  const std::string job = lab.cluster.names("jobs")[0];
  const std::string words = lab.run(job);
  for (auto& [name, record] : lab.store.kept) record.text.insert(1, " ");
  lab.us.dispatcher.see(Lab::pod(job, "Succeeded", words));
  CHECK(lab.us.turn(3).empty());
}

TEST_CASE("a dispatcher waits for a quota, but another refusal is final") {
  Lab lab;
  lab.us.add(1);
  lab.cluster.jobs_refused = 1;
  SECTION("a quota") {
    lab.cluster.refusal = {{"message", "jobs is forbidden: exceeded quota: few"}};
    CHECK(lab.us.turn(2).empty());
    CHECK(lab.us.dispatcher.state().trouble.find("exceeded quota") != std::string::npos);
    CHECK(lab.cluster.names("jobs").empty());
    CHECK(lab.us.turn(10).empty());
    CHECK(lab.cluster.names("jobs").size() == 1);
    CHECK(lab.us.dispatcher.state().trouble.empty());
  }
  SECTION("a right") {
    lab.cluster.refusal = {{"message", "jobs is forbidden: User cannot create"}};
    const auto done = lab.us.turn(2);
    REQUIRE(done.size() == 1);
    CHECK(done[0].output.find("User cannot create") != std::string::npos);
    CHECK(lab.cluster.objects.empty());
  }
}

TEST_CASE("a dispatcher waits for a cluster or a store that is away, and gives up in the end") {
  Lab lab;
  lab.us.add(1);
  SECTION("the cluster comes back") {
    lab.cluster.status = 503;
    CHECK(lab.us.turn(60).empty());
    CHECK_FALSE(lab.us.dispatcher.state().trouble.empty());
    lab.cluster.status = 0;
    CHECK(lab.us.turn(20).empty());
    CHECK(lab.cluster.names("jobs").size() == 1);
  }
  SECTION("the store does not") {
    lab.store.is_away = true;
    CHECK(lab.us.turn(300).empty());
    const auto done = lab.us.turn(400);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_final);
    CHECK(done[0].output.find("connection refused") != std::string::npos);
  }
}
