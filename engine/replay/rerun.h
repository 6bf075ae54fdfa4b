// A recorded round, run again in a project of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/blob_store.h"
#include "engine/app/campaign.h"
#include "engine/app/options.h"
#include "engine/app/state.h"
#include "engine/build/build.h"
#include "engine/core/record.h"
#include "engine/replay/judge.h"
#include "engine/replay/past.h"
#include "engine/report/progress.h"
#include "engine/world/process/guard.h"

namespace evolve {

// Puts recorded files back.
class Placer {
 public:
  explicit Placer(State& from)
      : files_(from.files), blobs_(from.folder + "/blobs", from.files, Sharing::bytes) {}

  // Puts a file at the path `to` below `folder`, or notes that its bytes are gone. Bad input: the
  // path leads out of the folder.
  Status place(const RecordedFile& file, const std::string& folder, const std::string& to);
  // Returns an error if the bytes of any file were gone.
  [[nodiscard]] Status end() const;
  [[nodiscard]] int placed() const { return placed_; }

 private:
  world::DiskFiles& files_;
  cache::FolderBlobStore blobs_;
  std::vector<std::string> gone_;
  int placed_ = 0;
};

// The way in which the progress of a run is shown.
struct Display {
  ProgressStyle style = ProgressStyle::quiet;
  bool color = false;
};

struct Machine {
  world::GuardProcess& guard;
  int jobs = 0;  // 0: one per core
  Display display;
};

// The conditions of a run. No step's bytes may depend on them.
struct Conditions {
  std::string python;                              // the interpreter's absolute path
  std::map<std::string, std::string> environment;  // in place of the default variables
  uint64_t order_seed = 0;
  int jobs = 0;  // 0: as Machine says

  [[nodiscard]] std::string text() const;
};

// Returns the conditions of this process.
Conditions default_conditions();

// The steps that run. The outputs of all other steps are taken from the record.
enum class StepsToRun { pure_steps, measurements };

class Rerun {
 public:
  // `from`: the state that has the record; its folder is an absolute path.
  Rerun(const CampaignFlags& common, const PastRound& past, State& from, const Machine& machine,
        Conditions conditions, StepsToRun steps_to_run, Judge judge)
      : common_(common),
        past_(past),
        from_(from),
        machine_(machine),
        conditions_(std::move(conditions)),
        steps_to_run_(steps_to_run),
        judge_(judge) {}

  // Lays out `folder` as a project, makes it the current folder, and builds what is to run. Returns
  // the record of that build. An error of code `failed`: a step failed.
  Result<Record> run(const std::string& folder);
  [[nodiscard]] const BuildSummary& summary() const { return summary_; }
  [[nodiscard]] size_t taken_over() const { return taken_over_; }  // steps

  // Return the bytes of a recorded file, as they were and as they are now. REQUIRES: run() was
  // called.
  Result<std::string> bytes_before(const RecordedFile& file);
  Result<std::string> bytes_now(const RecordedFile& file);

 private:
  [[nodiscard]] bool runs(const RecordedStep& step) const;
  // Puts the sources where a project has them, and changes to that folder.
  Status lay_out(const std::string& folder);
  // Returns the device kind: this machine's kind if times are measured again, or else the kind that
  // the record's times were measured on. Empty: the record names no kind.
  Result<std::string> device_kind();
  // Checks that the record's steps are the graph's steps for the round, with the same classes and
  // the same outputs. Bad input: they differ.
  Status check_steps() const;
  Status take_over();
  Status take_over(const RecordedStep& step);
  Result<std::vector<NodeId>> targets() const;
  Result<BuildSummary> build_anew(const std::vector<NodeId>& targets, Lookup& lookup);

  const CampaignFlags& common_;
  const PastRound& past_;
  State& from_;
  const Machine& machine_;
  Conditions conditions_;
  StepsToRun steps_to_run_;
  Judge judge_;
  Campaign campaign_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Graph> graph_;
  BuildSummary summary_;
  std::string warning_;
  size_t taken_over_ = 0;
};

}  // namespace evolve
