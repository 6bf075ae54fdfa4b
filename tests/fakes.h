// Fakes of the ports, which record their calls, and a fault plan that fails a chosen call. The
// unit, property and fault tiers use them; the contract tier proves that they behave like the real
// ports.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/build/build.h"
#include "engine/core/crypto/content.h"
#include "engine/core/http.h"
#include "engine/core/ports.h"
#include "engine/graph/manifest.h"

namespace evolve::tests {

// An exception that stands for the end of the process. None of our code catches it.
struct Killed {};

// A plan to fail call number `fail_at`. It counts the calls of all ports that share the plan.
struct FaultPlan {
  int calls = 0;
  int fail_at = 0;     // 0: never
  bool kills = false;  // the process ends at that call, before the call does anything

  bool fails() {
    if (++calls != fail_at) return false;
    if (kills) throw Killed{};
    return true;
  }
  static Error error() { return external("write 'x': No space left on device"); }
};

// A disk in memory. If a test needs the content of a folder, `files` has an entry for the folder:
// the names in it, one name per line.
class FakeFiles : public Files {
 public:
  std::map<std::string, std::string> files;
  std::map<std::string, int64_t> changed;  // when each file was changed, if a test needs this
  std::set<std::string> folders;
  std::vector<std::string> reads;
  FaultPlan* faults = nullptr;

  Result<std::string> read(const std::string& path) override {
    if (fails()) return FaultPlan::error();
    reads.push_back(path);
    auto it = files.find(path);
    if (it == files.end()) return external("open '" + path + "': No such file or directory");
    return it->second;
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    TRY_ASSIGN(auto text, read(path));
    std::vector<std::string> names;
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) names.push_back(name);
    return names;
  }
  Status write(const std::string& path, std::string_view bytes) override {
    if (fails()) return FaultPlan::error();
    files[path] = std::string(bytes);
    return {};
  }
  Status remove(const std::string& path) override {
    if (fails()) return FaultPlan::error();
    files.erase(path);
    return {};
  }
  Status make_folders(const std::string& path) override {
    if (fails()) return FaultPlan::error();
    folders.insert(path);
    return {};
  }
  Result<std::optional<FileState>> look(const std::string& path, const FileState*) override {
    if (fails()) return FaultPlan::error();
    auto it = files.find(path);
    if (it == files.end()) return std::optional<FileState>{};
    const auto time = changed.find(path);
    const int64_t at = time == changed.end() ? 0 : time->second;
    return std::optional(FileState{content_digest(it->second),
                                   content_digest(fmt::format("{} {}", it->second, at)), at});
  }
  Result<bool> place(const std::string& from, const std::string& to, Sharing,
                     const Digest& content) override {
    if (fails()) return FaultPlan::error();
    auto it = files.find(from);
    if (it == files.end() || content_digest(it->second) != content) return false;
    files[to] = it->second;
    return true;
  }

 private:
  bool fails() { return faults != nullptr && faults->fails(); }
};

// Links on a disk in memory. The file at a link's path holds the content that the link leads to.
class FakeLinks : public Links {
 public:
  explicit FakeLinks(FakeFiles& files) : files_(files) {}
  std::map<std::string, Link> links;
  FaultPlan* faults = nullptr;

  Result<std::optional<Link>> look(const std::string& path,
                                   std::span<const std::string> others) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = links.find(path);
    if (it == links.end()) return std::optional<Link>{};
    if (it->second.is_hard &&
        std::find(others.begin(), others.end(), it->second.target) == others.end())
      return std::optional<Link>{};
    return std::optional(it->second);
  }
  Result<bool> make(const std::string& path, const Link& link) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = files_.files.find(link.target);
    if (it == files_.files.end() && link.is_hard) return false;
    files_.files.erase(path);
    if (it != files_.files.end()) files_.files[path] = std::string(it->second);
    links[path] = link;
    return true;
  }

 private:
  FakeFiles& files_;
};

class FakeBlobs : public BlobStore {
 public:
  explicit FakeBlobs(FakeFiles& files) : files_(files) {}
  std::map<Digest, std::string> blobs;
  FaultPlan* faults = nullptr;

  Result<bool> contains(const Digest& digest) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    return blobs.contains(digest);
  }
  Status put_file(const std::string& path, const Digest& digest) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    blobs[digest] = files_.files.at(path);
    return {};
  }
  Result<bool> fetch(const Digest& digest, const std::string& path) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = blobs.find(digest);
    if (it == blobs.end()) return false;
    files_.files[path] = it->second;
    return true;
  }

 private:
  FakeFiles& files_;
};

class FakeMemo : public Memo {
 public:
  std::map<Digest, ActionResult> results;
  std::map<Digest, std::vector<std::string>> discoveries;
  FaultPlan* faults = nullptr;

  Result<std::optional<ActionResult>> find(const Digest& key) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = results.find(key);
    return it == results.end() ? std::optional<ActionResult>{} : it->second;
  }
  Result<std::vector<std::string>> discovered(const Digest& key) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = discoveries.find(key);
    return it == discoveries.end() ? std::vector<std::string>{} : it->second;
  }
  Status put(const ActionResult& result) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    if (result.key != result.declared_key) results.erase(result.declared_key);
    results[result.key] = result;
    results[result.key].parts.clear();
    discoveries[result.declared_key] = result.discovered;
    return {};
  }
  int64_t version_now = 0;  // the test changes it, as if another process had put results
  Result<int64_t> version() override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    return version_now;
  }
};

class FakeClaims : public Claims {
 public:
  std::set<Digest> held;
  std::function<bool(const Digest&)> is_others = [](const Digest&) { return false; };
  FaultPlan* faults = nullptr;

  Result<bool> claim(const Digest& action) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    return !is_others(action) && held.insert(action).second;
  }
  void release(const Digest& action) override { held.erase(action); }
};

class FakeLedger : public Ledger {
 public:
  std::vector<EdgeRecord> records;
  std::map<Digest, ActionResult> results;  // the results that recall() finds
  FaultPlan* faults = nullptr;

  Result<std::optional<ActionResult>> recall(const Digest& key) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    auto it = results.find(key);
    return it == results.end() ? std::optional<ActionResult>{} : it->second;
  }
  Result<std::vector<std::string>> recall_discovered(const Digest&) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    return std::vector<std::string>{};
  }
  Status record(const EdgeRecord& record) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    records.push_back(record);
    return {};
  }
  Status flush() override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    return {};
  }
  Result<std::optional<EdgeRecord>> last_record(const std::string& output) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    for (auto it = records.rbegin(); it != records.rend(); ++it) {
      if (it->output == output) return std::optional<EdgeRecord>(*it);
    }
    return std::optional<EdgeRecord>{};
  }
};

// A web server that plays a script, one answer per request, and records the requests. A caller that
// takes an answer as it arrives gets the answer in pieces of `piece` bytes.
class FakeHttp : public Http {
 public:
  std::deque<HttpResponse> answers;  // empty: no connection
  std::vector<HttpRequest> asked;
  size_t piece = 7;

  std::vector<HttpResponse> perform(std::span<const HttpRequest> requests) override {
    std::vector<HttpResponse> out;
    for (const HttpRequest& request : requests) out.push_back(answer(request));
    return out;
  }
  void stop() override {}

  // Returns an answer whose connection breaks after `body`.
  static HttpResponse broken(const std::string& words, const std::string& body = {}) {
    HttpResponse out;
    out.fault = words;
    out.body = body;
    return out;
  }
  static HttpResponse of(int status, const std::string& body, double retry_after = 0) {
    HttpResponse out;
    out.status = status;
    out.body = body;
    out.retry_after_seconds = retry_after;
    return out;
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    asked.push_back(request);
    if (answers.empty()) return broken("connection refused");
    HttpResponse out = answers.front();
    answers.pop_front();
    if (!request.take || (out.status != 0 && !is_success(out.status))) return out;
    const std::string body = std::exchange(out.body, {});
    for (size_t at = 0; at < body.size(); at += piece) {
      if (request.take(std::string_view(body).substr(at, piece))) continue;
      if (out.status == 0) out = of(200, {});  // the caller had enough before the connection broke
      break;
    }
    return out;
  }
};

class FakeClock : public Clock {
 public:
  double now = 0;
  double monotonic_seconds() override { return now; }
  std::string utc() override { return "2026-01-01T00:00:00Z"; }
  int64_t file_time_now = 1;
  int64_t file_time() override { return file_time_now; }
};

// Splits a command into its words, which single blanks separate.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size();) {
    size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Runs a command with the function that its first word names. Commands end in the order in which
// they started, or as `pick` says.
class FakeRunner : public Runner {
 public:
  using Program = std::function<int(const std::vector<std::string>& words, FakeFiles& files)>;

  FakeRunner(FakeFiles& files, FakeClock& clock) : files_(files), clock_(clock) {}
  std::map<std::string, Program> programs;
  std::vector<std::string> started;
  size_t most_at_once = 0;
  // Picks the command that ends next.
  std::function<size_t(size_t count)> pick = [](size_t) { return 0; };
  std::function<void(const std::vector<Command>& running)> at_start;  // the last command is new
  bool interrupt_next = false;
  bool stopped = false;
  FaultPlan* faults = nullptr;

  bool acquire() override { return true; }
  Status start(const Command& command) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    started.push_back(command.line);
    running_.push_back(command);
    most_at_once = std::max(most_at_once, running_.size());
    if (at_start) at_start(running_);
    return {};
  }
  Result<RunnerEvent> wait(double tick_seconds) override {
    if (faults != nullptr && faults->fails()) return FaultPlan::error();
    if (interrupt_next) return RunnerEvent(Interrupted{});
    if (running_.empty()) {
      clock_.now += tick_seconds;
      return RunnerEvent(Idle{});
    }
    auto next = running_.begin() + static_cast<ptrdiff_t>(pick(running_.size()));
    Command command = *next;
    running_.erase(next);
    clock_.now += 1;
    return RunnerEvent(Completed{command.id, run(command.line), false, "", 1});
  }
  double load() override { return load_now; }
  double load_now = 0;
  void stop() override {
    stopped = true;
    running_.clear();
  }

 private:
  int run(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    auto program = programs.find(words.front());
    return program == programs.end() ? 127 : program->second(words, files_);
  }

  FakeFiles& files_;
  FakeClock& clock_;
  std::vector<Command> running_;
};

class QuietListener : public Listener {
 public:
  std::vector<Error> faults;
  std::vector<EdgeEvent> ended;
  void planned(const Graph&, const BuildPlan&) override {}
  void started(const EdgeEvent&) override {}
  void finished(const EdgeEvent& event, const BuildPlan&) override { ended.push_back(event); }
  void fault(const Error& error) override { faults.push_back(error); }
  void tick(const BuildPlan&) override {}
};

// A world in memory with a manifest. A test writes files, builds, and looks at the commands that
// ran. The world's one program is `cat OUT IN…`, which writes the inputs into OUT, one after
// another. Tests can add other programs.
class World {
 public:
  FakeFiles files;
  FakeLinks links{files};
  FakeBlobs blobs{files};
  FakeMemo memo;
  FakeLedger ledger;
  FakeClaims claims;
  FakeClock clock;
  FakeRunner runner{files, clock};
  QuietListener listener;
  BuildOptions options;
  std::map<std::string, std::string> environment;
  Snapshot snapshot;
  std::unique_ptr<Graph> graph;

  World() {
    runner.programs["cat"] = [](const std::vector<std::string>& words, FakeFiles& disk) {
      std::string text;
      for (size_t i = 2; i < words.size(); ++i) text += disk.files[words[i]];
      disk.files[words[1]] = text;
      return 0;
    };
  }

  Status load(const std::string& manifest) {
    graph = std::make_unique<Graph>();
    snapshot = {};
    return parse_manifest(
        "build.ninja", [&](const std::string&) { return Result<std::string>(manifest); }, *graph);
  }

  Result<BuildSummary> build(const std::vector<std::string>& names = {}) {
    runner.started.clear();
    auto targets = graph->targets(names);
    if (!targets) return std::move(targets).error();
    Lookup lookup = this->lookup();
    return build(*targets, lookup);
  }
  Lookup lookup() { return {*graph, files, memo, ledger, snapshot, {{}, environment}}; }
  Result<BuildSummary> build(const std::vector<NodeId>& targets, Lookup& lookup, Hits hits = {}) {
    return evolve::build(*graph, targets, lookup,
                         {files, blobs, memo, ledger, claims, runner, clock, listener, &links},
                         options, std::move(hits));
  }

  // Acts like a new process: the state in memory is gone, and the written files stay.
  void revive() {
    fail_at(nullptr);
    runner.stop();
    claims.held.clear();
    snapshot = {};
  }

  void fail_at(FaultPlan* plan) {
    files.faults = plan;
    links.faults = plan;
    blobs.faults = plan;
    memo.faults = plan;
    ledger.faults = plan;
    claims.faults = plan;
    runner.faults = plan;
  }
};

}  // namespace evolve::tests
