// A recorded round, run anew in a project of its own.
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

  // Puts a file at the path `to` below `folder`; notes one whose bytes are gone. Bad input: the
  // path leads out of the folder.
  Status place(const RecordedFile& file, const std::string& folder, const std::string& to);
  // An error where anything is gone.
  [[nodiscard]] Status end() const;
  [[nodiscard]] int placed() const { return placed_; }

 private:
  world::DiskFiles& files_;
  cache::FolderBlobStore blobs_;
  std::vector<std::string> gone_;
  int placed_ = 0;
};

// How the progress of a run is shown.
struct Display {
  ProgressStyle style = ProgressStyle::quiet;
  bool color = false;
};

struct Machine {
  world::Guard& guard;
  int jobs = 0;  // 0: one a core
  Display display;
};

// What the surroundings of a run are, which no step's bytes may depend on.
struct Surrounding {
  std::string python;                              // the interpreter's absolute path
  std::map<std::string, std::string> environment;  // in place of the usual variables
  uint64_t order_seed = 0;
  int jobs = 0;  // 0: as is asked for

  [[nodiscard]] std::string text() const;
};

// Those of this process.
Surrounding usual_surrounding();

// Which steps run; what the others gave is taken over from the record.
enum class Anew { pure_steps, measurements };

class Rerun {
 public:
  // `from`: where the record lies, with an absolute path.
  Rerun(const SessionOptions& common, const PastRound& past, State& from, const Machine& machine,
        Surrounding surrounding, Anew anew, Judge judge)
      : common_(common),
        past_(past),
        from_(from),
        machine_(machine),
        surrounding_(std::move(surrounding)),
        anew_(anew),
        judge_(judge) {}

  // Lays out `folder` as a project, which becomes the current folder, and builds what is to run.
  // The record of it; an error of code `failed` where a step failed.
  Result<Record> run(const std::string& folder);
  [[nodiscard]] const BuildSummary& summary() const { return summary_; }
  [[nodiscard]] size_t taken_over() const { return taken_over_; }  // steps

  // A recorded file's bytes, as they were and as they are. REQUIRES: it was run.
  Result<std::string> bytes_before(const RecordedFile& file);
  Result<std::string> bytes_now(const RecordedFile& file);

 private:
  [[nodiscard]] bool runs(const RecordedStep& step) const;
  // Puts the sources where a project has them, and goes there.
  Status lay_out(const std::string& folder);
  // On what the record's times were measured, as far as they are not measured now.
  Result<std::string> device_kind();
  // Bad input: the record's steps are not those that the graph has for the round, of the same class
  // and with the same outputs.
  Status check_steps() const;
  Status take_over();
  Status take_over(const RecordedStep& step);
  Result<std::vector<NodeId>> targets() const;
  Result<BuildSummary> build_anew(const std::vector<NodeId>& targets, Lookup& lookup);

  const SessionOptions& common_;
  const PastRound& past_;
  State& from_;
  const Machine& machine_;
  Surrounding surrounding_;
  Anew anew_;
  Judge judge_;
  Campaign campaign_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Graph> graph_;
  BuildSummary summary_;
  std::string warning_;
  size_t taken_over_ = 0;
};

}  // namespace evolve
