// The ports: all that the build loop asks of the world, at most six calls each. Implemented by
// engine/world and cache/, and by the recording fakes and fault wrappers of tests/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/action.h"
#include "engine/core/digest.h"
#include "engine/core/file_state.h"
#include "engine/core/result.h"

namespace evolve {

// What two files with the same bytes have in common.
enum class Sharing {
  // They are one file under two names, read-only from then on, or copies where the file system
  // cannot link. For work folders that evolve alone writes.
  names,
  // Nothing but their bytes, which the file system may share, and who may execute them. For folders
  // of others, whose commands write into files as they like.
  bytes,
};

class Files {
 public:
  virtual ~Files() = default;
  // The bytes of a file; of a folder the names in it, sorted, a line each, without those of records
  // that builds keep there.
  virtual Result<std::string> read(const std::string& path) = 0;
  // Replaces the file as a whole or not at all; its folder must exist.
  virtual Status write(const std::string& path, std::string_view bytes) = 0;
  // Removes a file; one that is not there is no error.
  virtual Status remove(const std::string& path) = 0;
  // Makes the folder `path` and those above it.
  virtual Status make_folders(const std::string& path) = 0;
  // The state of a file, whose content is folder_digest() for a folder; nullopt where there is
  // nothing. The bytes are not read where the stamp is that of `before`, which may be null.
  virtual Result<std::optional<FileState>> look(const std::string& path,
                                                const FileState* before) = 0;
  // Puts the file `from` at `to`, in place of what was there, as a whole or not at all. False, and
  // nothing is changed: it is not there, or its bytes have another digest than `content`.
  virtual Result<bool> place(const std::string& from, const std::string& to, Sharing sharing,
                             const Digest& content) = 0;

  // The digest of a file's bytes, as look() reads it.
  Result<std::optional<Digest>> digest(const std::string& path) {
    TRY_ASSIGN(auto state, look(path, nullptr));
    return state ? std::optional(state->content) : std::nullopt;
  }
};

// What a path is, where it is another name of something.
struct Link {
  std::string target;  // the text of a symbolic link; of a hard link the other name
  bool is_hard = false;
};

// The names of files, which are links to others.
class Links {
 public:
  virtual ~Links() = default;
  // Nullopt: the path is neither a symbolic link nor the same file as one of `others`.
  virtual Result<std::optional<Link>> look(const std::string& path,
                                           std::span<const std::string> others) = 0;
  // Makes `path` that link, in place of what was there, as a whole or not at all. False, and
  // nothing is changed: the other name is not there or on another file system, or a folder lies at
  // `path`.
  virtual Result<bool> make(const std::string& path, const Link& link) = 0;
};

// Bytes by digest. What comes out of the store is complete and unchanged, or does not come out.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // As far as can be told without reading it: fetch() may find it damaged.
  virtual Result<bool> contains(const Digest& digest) = 0;
  // Puts the file at `path`, whose bytes have that digest, into the store by a link or a copy.
  virtual Status put_file(const std::string& path, const Digest& digest) = 0;
  // Puts the blob at `path`, whose folder must exist. False: the store does not hold it (any more).
  virtual Result<bool> fetch(const Digest& digest, const std::string& path) = 0;
};

// Action results by action key, without the parts of the keys: who looks one up has them. May be
// lost at any time.
class Memo {
 public:
  virtual ~Memo() = default;
  virtual Result<std::optional<ActionResult>> find(const Digest& key) = 0;
  // The paths that the last run under this declared key discovered; none where there was no run.
  virtual Result<std::vector<std::string>> discovered(const Digest& declared_key) = 0;
  // Durable against a kill of this process once it returns.
  virtual Status put(const ActionResult& result) = 0;
  // Another number than before where another process may have put something since. What others put
  // after this call need not be found before the next one.
  virtual Result<int64_t> version() = 0;
  // These keys will be looked up soon: who has to ask far away for them may ask for all at once.
  virtual Status foresee(std::span<const Digest>) { return {}; }
};

// Which of the processes that share a memo runs an action.
class Claims {
 public:
  virtual ~Claims() = default;
  // Takes an action until release(), or the end of this process. False: another process has it.
  virtual Result<bool> claim(const Digest& action) = 0;
  virtual void release(const Digest& action) = 0;
};

// What a build used of the machines of a node pool.
struct NodeUse {
  int64_t pods = 0;
  double seconds = 0;       // that pods ran
  double chip_seconds = 0;  // times the TPU chips that they held
};

// The record of what was built; never evicted.
class Ledger {
 public:
  virtual ~Ledger() = default;
  // An action result of any past build, for when the memo was lost.
  virtual Result<std::optional<ActionResult>> recall(const Digest& key) = 0;
  virtual Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) = 0;
  // Appends the outcome of an edge in this build, with its result's parts the first time. Durable
  // against a kill of this process after the next flush(), until which others cannot write.
  virtual Status record(const EdgeRecord& record) = 0;
  virtual Status flush() = 0;
  // The last record of the edge that makes `output`.
  virtual Result<std::optional<EdgeRecord>> last_record(const std::string& output) = 0;
};

// Of a command that another machine runs: all that has to travel.
struct Errand {
  std::string node_pool;                  // the machines' name in the pipeline
  Digest key;                             // of the action, without discovered inputs
  std::string subject;                    // "compile v0012 square_4096", for people
  std::vector<std::string> inputs;        // declared ones: their content is part of the key
  std::vector<std::string> surroundings;  // what it may read besides, sorted
  std::vector<std::string> outputs;
  std::string depfile;    // empty: none
  std::string toolchain;  // that it needs: "cpython-3.11.2 jax-0.10.2 …"
};

// A command line to run, and how.
struct Command {
  uint64_t id = 0;        // the caller's, returned with the completion
  std::string line;       // as for /bin/sh -c
  std::string worker;     // command line of a persistent worker that can serve it, or empty
  std::string arguments;  // what the worker is asked for: plain words
  std::map<std::string, std::string> environment;  // all of it; nothing is inherited
  double timeout_seconds = 0;                      // 0: none
  bool console = false;                            // has the terminal to itself
  bool is_sandboxed = false;                       // writes in no folder but `writable`
  std::vector<std::string> writable;
  bool keeps_leftovers = false;  // what it leaves in the background lives on
  std::optional<Errand> errand;  // none: it runs here
};

struct Completed {
  uint64_t id = 0;
  int exit_status = 0;  // exit code; 128 + signal where a signal ended it
  bool timed_out = false;
  std::string output;        // stdout and stderr as written
  double seconds = 0;        // wall time
  bool is_final = false;     // it was tried as often as is worth it
  std::string machine = {};  // that it ran on; empty: this one
};
struct Interrupted {};
struct Idle {};  // nothing finished before the tick was due
using RunnerEvent = std::variant<Completed, Interrupted, Idle>;

class Runner {
 public:
  virtual ~Runner() = default;
  // Asks for a slot for one more command, where other programs share the machine's slots. False:
  // none is free now; wait() returns when one may be. A slot is given back when its command has
  // ended, or, if none was started with it, by wait().
  virtual bool acquire() = 0;
  virtual Status start(const Command& command) = 0;
  // Waits until a command has completed, the user interrupts, or about `tick_seconds` have passed.
  virtual Result<RunnerEvent> wait(double tick_seconds) = 0;
  // How busy the machine is: the number of processes that run or want to, over the last minute.
  virtual double load() = 0;
  // Ends all commands and their descendants, and returns when they are gone.
  virtual void stop() = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double monotonic_seconds() = 0;
  // ISO 8601, UTC, to the second: for records only, never for keys.
  virtual std::string utc() = 0;
  // Now, as the times of files tell it (FileState::changed).
  virtual int64_t file_time() = 0;
};

}  // namespace evolve
