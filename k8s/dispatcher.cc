#include "k8s/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "engine/core/crypto/sha256.h"
#include "engine/core/json_read.h"
#include "engine/graph/depfile.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;
using Kind = OrderClaims::Claim::Kind;

// Limits for the new orders and the deleted Jobs of a turn. Events are handled between turns.
constexpr size_t kPreparedAtOnce = 16;
constexpr int kRemovedAtOnce = 4;
// Errands come one after another, so a Job waits this many seconds for more.
constexpr double kLinger = 0.3;
constexpr double kPollSeconds = 2;
constexpr double kRetrySeconds = 5;
// Seconds after which errands fail if the cluster or the store cannot be reached.
constexpr double kGiveUpSeconds = 600;
// The most Jobs that we make for an order whose faults may pass.
constexpr int kMostAttempts = 5;
constexpr int kLogLines = 200;
// The number of digits of an order's name in a pod's last words (k8s/agent/agent.cc).
constexpr size_t kWordDigits = 12;
// The exit status of a command that no node could run; docker uses it, too.
constexpr int kNodeFault = 125;

double seconds_of(const std::string& iso) {
  std::tm time = {};
  return ::strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr
             ? 0
             : static_cast<double>(::timegm(&time));
}

bool is_quota(const ApiResponse& answer) {
  return answer.why().find("exceeded quota") != std::string::npos;
}

// Returns the round in a path, such as "2" for "$work/round-2/v0009/…"; empty: the path has no
// folder of a round.
std::string round_of(const std::string& path) {
  constexpr std::string_view kRound = "/round-";
  const size_t at = path.find(kRound);
  if (at == std::string::npos) return {};
  const std::string rest = path.substr(at + kRound.size());
  return rest.substr(0, rest.find('/'));
}

// Returns the completion of a command that no node could run and that is not tried again.
Completed fault_of(const Command& command, const std::string& why) {
  return {.id = command.id, .exit_status = kNodeFault, .output = why + "\n", .is_final = true};
}

}  // namespace

Dispatcher::Dispatcher(Api& api, Store& store, Files& files, Clock& clock,
                       DispatcherSettings settings)
    : api_(api),
      store_(store),
      files_(files),
      clock_(clock),
      settings_(std::move(settings)),
      claims_(api, settings_.space, settings_.labels, settings_.is_dead) {
  settings_.labels[label::kManagedBy] = label::kEvolve;
}

void Dispatcher::add(Command command) {
  fresh_.push_back(std::move(command));
}

void Dispatcher::see(const JobState& job) {
  Seen& seen = seen_[job.name];
  seen.is_there = true;
  seen.job = job;
}

void Dispatcher::see(const PodState& pod) {
  if (pod.job.empty()) return;
  seen_[pod.job].pods[pod.name] = pod;
  if (auto job = jobs_.find(pod.job); job != jobs_.end() && pod.has_ended()) {
    if (job->second.is_ours) count_use(pod);
  }
}

void Dispatcher::lose_job(const std::string& name) {
  if (auto job = jobs_.find(name); job != jobs_.end()) {
    job->second.is_gone = true;
    seen_[name].is_there = false;
  } else {
    seen_.erase(name);
  }
}

void Dispatcher::lose_pod(const std::string& name) {
  for (auto& [job, seen] : seen_) {
    // A Job that we follow keeps its pods: the last one says why the Job ended.
    if (!jobs_.contains(job)) seen.pods.erase(name);
  }
}

std::vector<Completed> Dispatcher::turn() {
  const double now = clock_.monotonic_seconds();
  follow(now);
  // Results are returned first; the rest of the work can wait.
  if (completed_.empty() && now >= resume_at_) {
    if (auto status = remove_finished(); !status) note(status, now);
    if (now >= resume_at_) prepare(now);
    // Ended Jobs are deleted before anything is claimed again.
    if (now >= resume_at_ && finished_.empty()) launch(now);
  }
  return std::exchange(completed_, {});
}

void Dispatcher::note(const Status& status, double now) {
  if (status) {
    trouble_.clear();
    return;
  }
  if (trouble_.empty()) trouble_since_ = now;
  trouble_ = status.error().message;
  resume_at_ = now + kRetrySeconds;
  if (now < trouble_since_ + kGiveUpSeconds) return;
  while (!tickets_.empty()) give_up(tickets_.begin()->first, trouble_);
  for (const Command& command : fresh_) {
    completed_.push_back(fault_of(command, trouble_));
  }
  fresh_.clear();
}

// From errands to orders.

Result<std::string> Dispatcher::prepare(const Command& command, double now) {
  const Errand& errand = *command.errand;
  std::vector<std::string> paths = errand.inputs;
  paths.insert(paths.end(), errand.surroundings.begin(), errand.surroundings.end());
  TRY_ASSIGN(auto files, store_.put(paths));
  TRY_ASSIGN(auto order, order_of(command, settings_.machine, files));
  std::string name = order_name(order);
  Ticket ticket;
  ticket.command = command;
  ticket.text = encode_order(order);
  ticket.order = std::move(order);
  ticket.since = now;
  if (auto before = attempts_.find(name); before != attempts_.end()) {
    ticket.attempts = ticket.earlier = before->second;
  }
  tickets_.insert_or_assign(name, std::move(ticket));
  return name;
}

void Dispatcher::prepare(double now) {
  std::vector<std::string> orders, names;
  while (!fresh_.empty() && orders.size() < kPreparedAtOnce) {
    auto order = prepare(fresh_.front(), now);
    if (!order && order.error().code == ErrorCode::external) {
      note(std::move(order).error(), now);
      break;
    }
    if (order) {
      orders.push_back(*order);
      names.push_back(run_name(*order));
    } else {
      completed_.push_back(
          fault_of(fresh_.front(), fmt::format("evolve: error: {}", order.error().message)));
    }
    fresh_.pop_front();
  }
  if (orders.empty()) return;
  auto records = store_.records(names);
  // If this look fails, nothing is lost, because the agents look for the records again.
  if (!records) return note(std::move(records).error(), now);
  for (size_t i = 0; i < orders.size(); ++i) {
    auto run = run_of(orders[i], (*records)[i], {});
    if (run) (void)deliver(orders[i], *run);
  }
  note({}, now);
}

// From orders to Jobs.

void Dispatcher::launch(double now) {
  std::map<std::string, std::vector<std::string>> waiting;
  std::map<std::string, int> at_work;
  for (const auto& [order, ticket] : tickets_) {
    if (!ticket.job.empty() || now < ticket.ready_at) continue;
    waiting[ticket.command.errand->node_pool].push_back(order);
  }
  for (const auto& [name, job] : jobs_) at_work[job.pool] += job.is_ours ? 1 : 0;
  for (auto& [pool, orders] : waiting) {
    std::sort(orders.begin(), orders.end(), [this](const std::string& a, const std::string& b) {
      return tickets_.at(a).since < tickets_.at(b).since;
    });
    const PodPool& its = settings_.pools.at(pool);
    const auto batch = static_cast<size_t>(its.batch);
    if (at_work[pool] >= its.most_jobs) continue;
    const bool is_full = orders.size() >= batch;
    if (!is_full && now < tickets_.at(orders.back()).since + kLinger) continue;
    orders.resize(std::min(orders.size(), batch));
    // There is only one launch in a turn, so that events are handled in between.
    return note(launch(pool, orders, now), now);
  }
}

Status Dispatcher::launch(const std::string& pool, const std::vector<std::string>& orders,
                          double now) {
  int attempt = 0;
  for (const std::string& order : orders) attempt = std::max(attempt, tickets_.at(order).attempts);
  const std::string name = job_name(orders, attempt);
  std::vector<std::string> ours;
  for (const std::string& order : orders) {
    Ticket& ticket = tickets_.at(order);
    auto outcome = claims_.claim(order, ticket.text, name, ticket.finished, now);
    if (!outcome && outcome.error().code == ErrorCode::external) return std::move(outcome).error();
    if (!outcome) {
      give_up(order, outcome.error().message);
    } else if (outcome->kind == Kind::ours) {
      ours.push_back(order);
    } else if (outcome->kind == Kind::taken) {
      ticket.job = outcome->job;
      Job& its = jobs_[outcome->job];
      its.pool = pool;
      its.orders.insert(order);
    } else {
      ticket.ready_at = now + 1;
    }
  }
  if (ours.empty()) return {};
  // Other processes may soon treat such old claims as abandoned, so a later turn claims again.
  if (clock_.monotonic_seconds() > now + kStaleSeconds / 2) return {};
  return create_job(name, pool, ours, now);
}

Labels Dispatcher::labels_of(const std::vector<std::string>& orders) const {
  Labels out = settings_.labels;
  const Ticket& first = tickets_.at(orders.front());
  const std::string& subject = first.command.errand->subject;
  out[label::kStep] = label_value(subject.substr(0, subject.find(' ')));
  const std::string round = round_of(first.order.outputs.front());
  if (!round.empty()) out[label::kRound] = label_value(round);
  if (orders.size() == 1) out[label::kKey] = first.order.key;
  return out;
}

std::string Dispatcher::jobs_path(const std::string& name) const {
  return fmt::format("/apis/batch/v1/namespaces/{}/jobs{}{}", settings_.space,
                     name.empty() ? "" : "/", name);
}

void Dispatcher::put_back(const std::vector<std::string>& orders, double until) {
  for (const std::string& order : orders) tickets_.at(order).ready_at = until;
}

Status Dispatcher::create_job(const std::string& name, const std::string& pool,
                              const std::vector<std::string>& orders, double now) {
  auto job = make_job(settings_.pools.at(pool).job, name, orders, labels_of(orders));
  if (!job) {
    for (const std::string& order : orders) give_up(order, job.error().message);
    return {};
  }
  TRY_ASSIGN(auto made, api_.create(jobs_path(), *job));
  if (made.status == kConflict) return adopt(name, pool, orders, now);
  if (!made.is_success()) {
    const std::string why = fmt::format("job {}: {}", name, made.why());
    for (const std::string& order : orders) {
      TRY(claims_.release(order));
    }
    if (is_quota(made)) {
      put_back(orders, now + kRetrySeconds);
      return external(why);
    }
    for (const std::string& order : orders) give_up(order, why);
    return {};
  }
  assign(name, pool, orders, true);
  const std::string uid = job_state(made.body).uid;
  for (const std::string& order : orders) {
    TRY(claims_.bind(order, name, uid));
  }
  return {};
}

Status Dispatcher::adopt(const std::string& name, const std::string& pool,
                         const std::vector<std::string>& orders, double now) {
  TRY_ASSIGN(auto there, api_.get(jobs_path(name)));
  const JobState sight = job_state(there.body);
  const bool has_ended = sight.is_complete || sight.is_failed || sight.is_leaving;
  if (there.is_success() && !has_ended) {
    assign(name, pool, orders, sight.owner == settings_.labels.at(label::kOwner));
    return {};
  }
  for (const std::string& order : orders) {
    Ticket& ticket = tickets_.at(order);
    ticket.finished = name;
    ++ticket.attempts;
  }
  put_back(orders, now + kLinger);
  return {};
}

void Dispatcher::assign(const std::string& name, const std::string& pool,
                        const std::vector<std::string>& orders, bool is_ours) {
  Job& job = jobs_[name];
  job.pool = pool;
  job.is_ours = is_ours;
  job.is_gone = false;
  for (const std::string& order : orders) {
    Ticket& ticket = tickets_.at(order);
    ticket.job = name;
    if (is_ours) attempts_[order] = ++ticket.attempts;
    job.orders.insert(order);
  }
}

// From Jobs to results.

void Dispatcher::follow(double now) {
  std::vector<std::string> names;
  names.reserve(jobs_.size());
  for (const auto& [name, job] : jobs_) names.push_back(name);
  for (const std::string& name : names) {
    Job& job = jobs_.at(name);
    const Seen& seen = seen_[name];
    const bool has_ended =
        job.is_gone || (seen.is_there && (seen.job.is_complete || seen.job.is_failed));
    const PodState* pod = last_pod(name);
    const bool is_reporting = pod != nullptr && pod->phase == "Succeeded";
    const bool is_running = pod != nullptr && pod->phase == "Running" && job.orders.size() > 1;
    const bool is_due = now >= job.polled + kPollSeconds;
    if (!has_ended && !is_due && (job.polled > 0 || !is_reporting)) continue;
    if (!has_ended && !is_reporting && !is_running) continue;
    job.polled = now;
    if (auto status = settle(name, has_ended, now); !status) note(status, now);
  }
}

const PodState* Dispatcher::last_pod(const std::string& job) const {
  const auto seen = seen_.find(job);
  const PodState* last = nullptr;
  if (seen == seen_.end()) return last;
  for (const auto& [name, pod] : seen->second.pods) {
    if (last == nullptr || std::pair(pod.has_ended() ? 0 : 1, pod.started) >=
                               std::pair(last->has_ended() ? 0 : 1, last->started)) {
      last = &pod;
    }
  }
  return last;
}

std::map<std::string, std::string> Dispatcher::last_words(const std::string& job) const {
  std::map<std::string, std::string> out;
  const auto seen = seen_.find(job);
  if (seen == seen_.end()) return out;
  for (const auto& [name, pod] : seen->second.pods) {
    std::string_view rest = pod.last_words;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.size() <= kWordDigits || line[kWordDigits] != ' ') continue;
      const std::string digest(line.substr(kWordDigits + 1));
      if (is_sha256(digest)) out[std::string(line.substr(0, kWordDigits))] = digest;
    }
  }
  return out;
}

std::optional<Run> Dispatcher::run_of(const std::string& order,
                                      const std::optional<StoreEntry>& record,
                                      const std::map<std::string, std::string>& words) {
  if (!record) return std::nullopt;
  const auto said = words.find(order.substr(0, kWordDigits));
  // The pod's last words come through the cluster, not the store, so a record must agree with them.
  if (said != words.end() && said->second != sha256(record->text)) return std::nullopt;
  auto run = decode_run(order, *record);
  if (!run) return std::nullopt;
  const bool is_good = run->exit_status == 0 && !run->timed_out;
  if (!is_good && said == words.end()) return std::nullopt;
  if (is_good && run->files.size() != tickets_.at(order).order.outputs.size()) return std::nullopt;
  return run;
}

Status Dispatcher::settle(const std::string& name, bool has_ended, double now) {
  const bool is_ours = jobs_.at(name).is_ours;
  const std::vector<std::string> orders(jobs_.at(name).orders.begin(), jobs_.at(name).orders.end());
  std::vector<std::string> names;
  for (const std::string& order : orders) {
    names.push_back(run_name(order));
    // A failure in somebody else's Job does not count for ours.
    names.push_back(run_name(order, is_ours ? name : ""));
  }
  TRY_ASSIGN(auto records, store_.records(names));
  const auto words = last_words(name);
  for (size_t i = 0; i < orders.size(); ++i) {
    auto run = run_of(orders[i], records[2 * i], words);
    if (!run) run = run_of(orders[i], records[2 * i + 1], words);
    if (!run && !has_ended) continue;
    Status delivered = run ? deliver(orders[i], *run) : failed("the record is missing");
    if (!delivered && delivered.error().code == ErrorCode::external) return delivered;
    if (!delivered) {
      if (!has_ended) continue;
      retry(orders[i], name, now);
    }
  }
  if (auto job = jobs_.find(name); job != jobs_.end() && job->second.orders.empty()) finish(name);
  return {};
}

Status Dispatcher::deliver(const std::string& order, const Run& run) {
  const Ticket& ticket = tickets_.at(order);
  const Errand& errand = *ticket.command.errand;
  if (run.exit_status == 0 && !run.timed_out) {
    std::vector<WantedFile> wanted;
    for (size_t i = 0; i < errand.outputs.size(); ++i) {
      wanted.push_back({run.files[i], errand.outputs[i]});
    }
    TRY(store_.fetch(wanted));
    if (run.discovered && !errand.depfile.empty()) {
      std::vector<std::string> inputs = *run.discovered;
      for (std::string& input : inputs) input = machine_path(input, settings_.machine);
      auto written = files_.write(errand.depfile, depfile_text(errand.outputs.front(), inputs));
      if (!written) return written;
    }
  }
  complete(order, {.id = ticket.command.id,
                   .exit_status = run.exit_status,
                   .timed_out = run.timed_out,
                   .output = run.output,
                   .seconds = run.seconds,
                   .machine = run.node});
  return {};
}

void Dispatcher::complete(const std::string& order, Completed completed) {
  const auto ticket = tickets_.find(order);
  if (auto job = jobs_.find(ticket->second.job); job != jobs_.end()) {
    job->second.orders.erase(order);
  }
  tickets_.erase(ticket);
  completed_.push_back(std::move(completed));
}

std::string Dispatcher::why_ended(const std::string& job) const {
  const auto seen = seen_.find(job);
  if (seen == seen_.end() || !seen->second.is_there) return "was deleted";
  const JobState& sight = seen->second.job;
  if (sight.reason == "DeadlineExceeded") return "took longer than its activeDeadlineSeconds";
  const PodState* pod = last_pod(job);
  std::string out = pod == nullptr ? sight.message : trouble_of(*pod);
  if (out.empty()) out = sight.is_complete ? "left no record in the store" : sight.message;
  const size_t said = pod == nullptr ? std::string::npos : pod->last_words.find(kAgentError);
  if (said != std::string::npos) {
    const std::string words = pod->last_words.substr(said + kAgentError.size());
    out += ": " + words.substr(0, words.find('\n'));
  }
  return out;
}

void Dispatcher::retry(const std::string& order, const std::string& job, double now) {
  Ticket& ticket = tickets_.at(order);
  const bool is_ours = jobs_.at(job).is_ours;
  const PodState* pod = last_pod(job);
  const std::string why = why_ended(job);
  const std::string& reason = seen_[job].job.reason;
  const bool is_final = reason == "DeadlineExceeded" || (pod != nullptr && !may_pass(*pod)) ||
                        ticket.attempts - ticket.earlier >= kMostAttempts;
  if (is_ours) {
    ++faults_;
    if (pod != nullptr && pod->phase == "Failed") keep_log(*pod);
    if (is_final && !jobs_.at(job).is_gone) {
      return give_up(order, fmt::format("job {}: {}", job, why));
    }
  }
  jobs_.at(job).orders.erase(order);
  ticket.job.clear();
  ticket.finished = job;
  ticket.ready_at = now + (is_ours ? ticket.attempts : 0);
}

void Dispatcher::give_up(const std::string& order, const std::string& why) {
  const Command& command = tickets_.at(order).command;
  complete(order,
           fault_of(command, fmt::format("evolve: error: {}: {}", command.errand->node_pool, why)));
}

void Dispatcher::finish(const std::string& name) {
  const Job job = jobs_.at(name);
  if (const PodState* pod = last_pod(name); pod != nullptr && job.is_ours) count_use(*pod);
  if (job.is_ours && !job.is_gone) finished_.push_back(name);
  jobs_.erase(name);
  if (job.is_gone) seen_.erase(name);
}

Status Dispatcher::remove_finished() {
  for (int i = 0; i < kRemovedAtOnce && !finished_.empty(); ++i) {
    // The cluster also deletes the Job's ConfigMaps.
    TRY(api_.remove(jobs_path(finished_.front())));
    finished_.pop_front();
  }
  return {};
}

void Dispatcher::keep_log(const PodState& pod) {
  if (settings_.logs.empty()) return;
  auto text = api_.text(fmt::format("/api/v1/namespaces/{}/pods/{}/log?tailLines={}",
                                    settings_.space, pod.name, kLogLines));
  if (!text || !files_.make_folders(settings_.logs)) return;
  (void)files_.write(fmt::format("{}/{}.log", settings_.logs, pod.name), *text);
}

void Dispatcher::count_use(const PodState& pod) {
  // A pod without an end time counts until now.
  const std::string& end = pod.finished.empty() ? clock_.utc() : pod.finished;
  const double seconds = seconds_of(end) - seconds_of(pod.started);
  if (seconds_of(pod.started) == 0 || seconds < 0 || !counted_.insert(pod.uid).second) return;
  PoolUse& use = use_[jobs_.at(pod.job).pool];
  ++use.pods;
  use.seconds += seconds;
  use.chip_seconds += seconds * pod.chips;
}

// The state, and the clean-up.

ClusterState Dispatcher::state() const {
  struct Counts {
    int running = 0, starting = 0, waiting = 0;
  };
  std::map<std::string, Counts> pools;
  ClusterState out;
  for (const auto& [name, job] : jobs_) {
    const PodState* pod = last_pod(name);
    Counts& its = pools[job.pool];
    ++(pod != nullptr && pod->phase == "Running" ? its.running : its.starting);
    const auto seen = seen_.find(name);
    const bool is_queued = seen != seen_.end() && seen->second.job.is_suspended;
    const std::string trouble = pod != nullptr ? trouble_of(*pod)
                                : is_queued    ? "waiting in its queue"
                                               : "";
    if (!trouble.empty()) out.trouble = fmt::format("{}: {}", job.pool, trouble);
  }
  for (const auto& [order, ticket] : tickets_) {
    if (ticket.job.empty()) ++pools[ticket.command.errand->node_pool].waiting;
  }
  for (const auto& [pool, its] : pools) {
    out.summary +=
        fmt::format("{}{} {} running", out.summary.empty() ? "" : "; ", pool, its.running);
    if (its.starting > 0) out.summary += fmt::format(", {} starting", its.starting);
    if (its.waiting > 0) out.summary += fmt::format(", {} waiting", its.waiting);
  }
  if (!trouble_.empty()) out.trouble = "cluster: " + trouble_;
  return out;
}

Status Dispatcher::clean_up() {
  for (const auto& [name, job] : jobs_) {
    if (const PodState* pod = last_pod(name); pod != nullptr && job.is_ours) count_use(*pod);
  }

  for (const std::string& path :
       {jobs_path(), fmt::format("/api/v1/namespaces/{}/configmaps", settings_.space)}) {
    TRY(clean_up(path));
  }
  return {};
}

Status Dispatcher::clean_up(const std::string& path) {
  const std::string& own = settings_.labels.at(label::kSession);
  TRY_ASSIGN(auto list, api_.get(fmt::format("{}?labelSelector={}={}", path, label::kOwner,
                                             settings_.labels.at(label::kOwner))));
  for (const json& object : at_place(list.body, "/items")) {
    const JobState sight = job_state(object);  // a ConfigMap has the same metadata
    if (sight.is_leaving || (sight.session != own && !settings_.is_dead(sight.session))) continue;
    TRY(api_.remove(path + "/" + sight.name));
  }
  return {};
}

}  // namespace evolve::k8s
