#include "k8s/agent/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cache/remote_store.h"
#include "engine/app/machine.h"
#include "engine/app/state.h"
#include "engine/app/toolchain.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/path.h"
#include "engine/graph/depfile.h"
#include "engine/report/output.h"
#include "engine/world/clock.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"
#include "engine/world/http.h"
#include "engine/world/process/guard.h"
#include "engine/world/process/runner.h"
#include "engine/world/signals.h"
#include "k8s/object_state.h"
#include "k8s/order.h"

namespace evolve::k8s {

namespace {

namespace fs = std::filesystem;

// The number of digits of an order's name in a line of the last words, before the digest of its
// record. The full name would be too long: a container's last words may have 4096 bytes.
constexpr size_t kDigits = 12;

struct Task {
  std::string name;
  k8s::Order order;
};

// Returns the Python of the image that we are in: $EVOLVE_PYTHON, or the one next to our own
// folder.
std::string image_python() {
  const std::string named = variable("EVOLVE_PYTHON");
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return named.empty() ? (program.parent_path().parent_path() / ".venv/bin/python").string()
                       : named;
}

// Adds to our last words, the termination message of the container.
Status say(const AgentSettings& settings, const std::string& words) {
  // Appends in place, because the file may be a mount, which a rename cannot replace.
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(settings.message.c_str(), "ae"),
                                                       std::fclose);
  const bool is_written =
      file && std::fputs(words.c_str(), file.get()) >= 0 && std::fclose(file.release()) == 0;
  return is_written ? Status{} : world::system_error("write", settings.message, errno);
}

class Agent {
 public:
  Agent(const AgentSettings& settings, Store& store, world::GuardProcess& guard, std::string folder)
      : settings_(settings),
        store_(store),
        runner_(guard, clock_),
        folder_(std::move(folder)),
        machine_({{"work", "work"},
                  {"rules", "rules"},
                  {"steps", "steps"},
                  {"python", image_python()}}) {}

  Status run() {
    TRY(read_orders());
    TRY(check_toolchains());
    TRY(leave_out_done());
    size_t next = 0;
    while (next < tasks_.size() || !running_.empty()) {
      while (next < tasks_.size() && std::ssize(running_) < settings_.at_once) {
        TRY(start(next++));
      }
      constexpr double kTickSeconds = 0.5;
      TRY_ASSIGN(auto event, runner_.wait(kTickSeconds));
      if (std::holds_alternative<Interrupted>(event)) {
        return interrupted_error("interrupted");
      }
      if (auto* completed = std::get_if<Completed>(&event)) {
        TRY(finish(*completed));
      }
    }
    return {};
  }

 private:
  Status read_orders() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(settings_.orders, error)) {
      if (entry.path().extension() != ".json") continue;
      TRY_ASSIGN(auto text, world::read_file(entry.path().string()));
      auto order = k8s::decode_order(text);
      if (!order) return std::move(order).error().within(entry.path().string());
      TRY_ASSIGN(auto job,
                 world::read_file(fs::path(entry.path()).replace_extension(".job").string()));
      std::string name = k8s::order_name(*order);
      if (job != settings_.job) {
        print_out(fmt::format("{}: belongs to {}\n", name.substr(0, kDigits), job));
        continue;
      }
      tasks_.push_back({std::move(name), *std::move(order)});
    }
    if (error) return world::system_error("opendir", settings_.orders, error.value());
    std::sort(tasks_.begin(), tasks_.end(),
              [](const Task& a, const Task& b) { return a.name < b.name; });
    return {};
  }

  Status check_toolchains() const {
    std::set<std::string> all;
    for (const Task& task : tasks_) all.insert(task.order.toolchain);
    for (const std::string& wanted : all) {
      if (wanted.empty()) continue;
      TRY(check_toolchain(machine_.back().value, wanted));
    }
    return {};
  }

  Status leave_out_done() {
    std::vector<std::string> names;
    names.reserve(tasks_.size());
    for (const Task& task : tasks_) names.push_back(k8s::run_name(task.name));
    TRY_ASSIGN(auto records, store_.records(names));
    std::vector<Task> left;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const auto& record = records[i];
      if (record && k8s::decode_run(tasks_[i].name, *record)) {
        print_out(fmt::format("{}: already done\n", tasks_[i].name.substr(0, kDigits)));
        TRY(tell(tasks_[i].name, *record));
      } else {
        left.push_back(std::move(tasks_[i]));
      }
    }
    tasks_ = std::move(left);
    return {};
  }

  // The folder in which an order's command runs.
  [[nodiscard]] std::string root_of(size_t number) const {
    return fmt::format("{}/{}", folder_, number);
  }
  [[nodiscard]] std::string path_in(size_t number, const std::string& symbolic) const {
    return fmt::format("{}/{}", root_of(number), machine_path(symbolic, machine_));
  }

  Status start(size_t number) {
    const k8s::Order& order = tasks_[number].order;
    std::vector<WantedFile> wanted;
    for (const auto* list : {&order.inputs, &order.surroundings}) {
      for (const auto& [path, file] : *list) wanted.push_back({file, path_in(number, path)});
    }
    std::vector<std::string> made = order.outputs;
    if (!order.depfile.empty()) made.push_back(order.depfile);
    std::vector<std::string> paths;
    paths.reserve(made.size() + wanted.size());
    for (const std::string& path : made) paths.push_back(path_in(number, path));
    for (const WantedFile& one : wanted) paths.push_back(one.path);
    for (const std::string& path : paths) {
      TRY(files_.make_folders(fs::path(path).parent_path().string()));
    }
    TRY(store_.fetch(wanted));
    Command command;
    command.id = number;
    command.line = "cd ";
    append_shell_quoted(root_of(number), command.line);
    command.line += " && " + machine_command(order.command, machine_);
    command.environment = environment();
    for (const auto& [name, value] : order.environment) command.environment[name] = value;
    command.timeout_seconds = order.timeout_seconds;
    command.is_sandboxed = order.is_sandboxed;
    for (const std::string& path : made) {
      command.writable.push_back(fs::path(path_in(number, path)).parent_path().string());
    }
    TRY(runner_.start(command));
    running_.insert(number);
    return {};
  }

  // Returns the variables that commands get on every machine, and those about the node's devices. A
  // template's other variables are left out, because no key includes them.
  [[nodiscard]] std::map<std::string, std::string> environment() const {
    auto out = command_environment();
    for (auto& [name, value] : process_environment()) {
      if (name.starts_with("TPU_")) out[name] = value;
    }
    out["HOME"] = folder_;
    out["TMPDIR"] = folder_;
    return out;
  }

  Status finish(const Completed& completed) {
    const size_t number = completed.id;
    running_.erase(number);
    const auto& [name, order] = tasks_[number];
    k8s::Run run;
    run.order = name;
    run.exit_status = completed.exit_status;
    run.timed_out = completed.timed_out;
    run.seconds = completed.seconds;
    run.output = completed.output;
    run.node = node();
    const bool is_good = completed.exit_status == 0 && !completed.timed_out;
    if (is_good) {
      TRY(keep_outputs(number, run));
    }
    const StoreEntry record = k8s::encode_run(run);
    // A failed run is recorded only for our Job, so the next process that asks for the order tries
    // it again.
    const std::string place = k8s::run_name(
        name, run.exit_status == 0 && !run.timed_out ? "" : std::string_view(settings_.job));
    TRY(store_.put_entry(place, record));
    TRY(tell(name, record));
    print_out(fmt::format("{}: exited with {} after {:.1f} s\n", name.substr(0, kDigits),
                          run.exit_status, run.seconds));
    std::error_code error;
    fs::remove_all(root_of(number), error);
    return {};
  }

  // Stores the outputs of a command. A command that did not write all of them has failed.
  Status keep_outputs(size_t number, k8s::Run& run) {
    const k8s::Order& order = tasks_[number].order;
    std::vector<std::string> paths;
    paths.reserve(order.outputs.size());
    for (const std::string& path : order.outputs) paths.push_back(path_in(number, path));
    for (const std::string& path : paths) {
      if (fs::is_regular_file(path)) continue;
      run.exit_status = 1;
      run.output += fmt::format("evolve: error: the command did not write '{}'\n", path);
      return {};
    }
    if (!order.depfile.empty()) {
      const std::string path = path_in(number, order.depfile);
      auto text = world::read_file(path);
      if (!text) return {};  // the process that collects the run reports it
      auto depfile = parse_depfile(*text);
      if (!depfile) return std::move(depfile).error().within(path);
      for (std::string& input : depfile->inputs) input = symbolic_input(number, input);
      run.discovered = std::move(depfile->inputs);
    }
    TRY_ASSIGN(auto kept, store_.put(paths));
    run.files = std::move(kept);
    return {};
  }

  // Returns an input of a depfile as a symbolic path. The depfile names the input relative to the
  // order's folder, or by an absolute path below that folder.
  [[nodiscard]] std::string symbolic_input(size_t number, const std::string& path) const {
    const std::string root = root_of(number) + "/";
    return symbolic_path(path.starts_with(root) ? path.substr(root.size()) : path, machine_);
  }

  static std::string node() {
    const std::string named = variable("EVOLVE_NODE");
    return named.empty() ? machine_name() : named;
  }

  // Adds a record's digest to our last words.
  Status tell(const std::string& name, const StoreEntry& record) {
    if (settings_.message.empty()) return {};
    return say(settings_, fmt::format("{} {}\n", name.substr(0, kDigits), sha256(record.text)));
  }

  const AgentSettings& settings_;
  Store& store_;
  world::DiskFiles files_;
  world::SystemClock clock_;
  world::LocalRunner runner_;
  std::string folder_;
  std::vector<MachineBinding> machine_;
  std::vector<Task> tasks_;
  std::set<size_t> running_;
};

Status run(const AgentSettings& settings) {
  world::watch_interrupts();
  TRY_ASSIGN(auto guard, world::GuardProcess::start());
  // Compilers also write to /tmp, and their errors would be taken for a verdict.
  if (::access("/tmp", W_OK) != 0) {
    return bad_input("/tmp: cannot be written in this container", "",
                     "add a volume for /tmp, as in k8s/cpu-job.yaml");
  }
  std::string folder = settings.folder;
  if (folder.empty()) folder = fs::temp_directory_path().string() + "/evolve-agent";
  folder = fs::absolute(folder).lexically_normal().string();
  auto address = remote_address(settings.store);
  if (!address) return std::move(address).error().within("--store");
  if (!*address)
    return bad_input("--store: the store is missing", "",
                     "name a store, for example --store gs://bucket/prefix");
  world::DiskFiles files;
  TRY(files.make_folders(folder));
  if (::chdir(folder.c_str()) != 0) return world::system_error("chdir", folder, errno);
  const auto http = remote_http(settings.store, **address);
  cache::RemoteStore store(*http, files, **address, world::patience());
  return Agent(settings, store, guard, folder).run();
}

}  // namespace

Status run_agent(const AgentSettings& settings) {
  Status status = run(settings);
  if (!status && !settings.message.empty()) {
    (void)say(settings, fmt::format("{}{}\n", k8s::kAgentError, status.error().message));
  }
  return status;
}

}  // namespace evolve::k8s
