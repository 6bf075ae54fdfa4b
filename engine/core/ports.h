// The ports: the interfaces through which the build loop uses the world, with at most seven calls
// each. engine/world, cache/, and the recording fakes and fault wrappers of tests/ implement them.
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

// How much two files with the same bytes share.
enum class Sharing {
  // One file under two names, which is read-only from then on; or a copy if the file system cannot
  // link. This is for work folders to which only evolve writes.
  names,
  // Two files with the same execute permission, which share their bytes if the file system can
  // do that. This is for folders that evolve does not own, where a command may write into any
  // file.
  bytes,
};

class Files {
 public:
  virtual ~Files() = default;
  // Returns the bytes of a file.
  virtual Result<std::string> read(const std::string& path) = 0;
  // Returns the names in a folder, sorted, hidden ones included.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  // Writes a file, as a whole or not at all. Replaces an existing file. The folder must exist.
  virtual Status write(const std::string& path, std::string_view bytes) = 0;
  // Removes a file. A missing file is not an error.
  virtual Status remove(const std::string& path) = 0;
  // Makes the folder `path` and the folders above it.
  virtual Status make_folders(const std::string& path) = 0;
  // Returns the state of a file; a folder's content is folder_digest(). Nullopt: nothing is there.
  // The bytes are not read if the file's stamp equals the stamp of `before`, which may be null.
  virtual Result<std::optional<FileState>> look(const std::string& path,
                                                const FileState* before) = 0;
  // Puts the file `from` at `to`, as a whole or not at all. Replaces an existing file. Returns
  // false and changes nothing if `from` is missing, or if the digest of its bytes is not `content`.
  virtual Result<bool> place(const std::string& from, const std::string& to, Sharing sharing,
                             const Digest& content) = 0;

  // Returns the digest of a file's bytes, as look() finds them. Nullopt: nothing is there.
  Result<std::optional<Digest>> digest(const std::string& path) {
    TRY_ASSIGN(auto state, look(path, nullptr));
    return state ? std::optional(state->content) : std::nullopt;
  }
};

// A path that is another name of a file or folder.
struct Link {
  std::string target;  // the text of a symbolic link; for a hard link the other name
  bool is_hard = false;
};

// The port to links: paths that are other names of files or folders.
class Links {
 public:
  virtual ~Links() = default;
  // Returns the link at `path`. Nullopt: `path` is neither a symbolic link nor the same file as one
  // of `others`.
  virtual Result<std::optional<Link>> look(const std::string& path,
                                           std::span<const std::string> others) = 0;
  // Makes `path` this link, as a whole or not at all. Replaces an existing file or link. Returns
  // false and changes nothing if the other name is missing or on another file system, or if `path`
  // is a folder.
  virtual Result<bool> make(const std::string& path, const Link& link) = 0;
};

// A store of blobs: bytes that are found by their digest. The store returns complete and unchanged
// bytes, or nothing.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // Whether the store has the blob. The blob is not read: fetch() may still find it damaged.
  virtual Result<bool> contains(const Digest& digest) = 0;
  // Puts the file at `path`, whose bytes have this digest, into the store by a link or a copy.
  virtual Status put_file(const std::string& path, const Digest& digest) = 0;
  // Puts the blob at `path`, whose folder must exist. False: the store does not hold the blob (any
  // more).
  virtual Result<bool> fetch(const Digest& digest, const std::string& path) = 0;
};

// Action results by action key. The parts of the keys are not stored, because the caller has them.
// Results may be lost at any time.
class Memo {
 public:
  virtual ~Memo() = default;
  virtual Result<std::optional<ActionResult>> find(const Digest& key) = 0;
  // Returns the paths that the last run under this declared key discovered. The list is also empty
  // if no run is known.
  virtual Result<std::vector<std::string>> discovered(const Digest& declared_key) = 0;
  // Stores a result. The result survives a kill of this process once put() returns.
  virtual Status put(const ActionResult& result) = 0;
  // Returns a new number if another process may have stored a result since the last call. Results
  // that others store after this call may be missing from look-ups until the next call.
  virtual Result<int64_t> version() = 0;
  // Announces keys that will be looked up soon. A remote memo may then ask for all of them at once.
  virtual Status foresee(std::span<const Digest>) { return {}; }
};

// Decides which of the processes that share a memo runs an action.
class Claims {
 public:
  virtual ~Claims() = default;
  // Claims an action until release(), or until this process ends. False: another process has
  // claimed the action.
  virtual Result<bool> claim(const Digest& action) = 0;
  virtual void release(const Digest& action) = 0;
};

// How much a build used the machines of a node pool.
struct PoolUse {
  int64_t pods = 0;
  double seconds = 0;       // running time of the pods
  double chip_seconds = 0;  // pods' seconds times the TPU chips that they held
};

// The record of all builds. Its entries are never evicted.
class Ledger {
 public:
  virtual ~Ledger() = default;
  // Returns an action result of any past build. This is used if the memo was lost.
  virtual Result<std::optional<ActionResult>> recall(const Digest& key) = 0;
  virtual Result<std::vector<std::string>> recall_discovered(const Digest& declared_key) = 0;
  // Appends the outcome of an edge in this build, and stores a new result with the parts of its
  // key. The record survives a kill of this process after the next flush(). Other processes cannot
  // write until that flush.
  virtual Status record(const EdgeRecord& record) = 0;
  virtual Status flush() = 0;
  // Returns the last record of the edge that makes `output`.
  virtual Result<std::optional<EdgeRecord>> last_record(const std::string& output) = 0;
};

// Everything that another machine needs to run a command, apart from the command itself.
struct Errand {
  std::string node_pool;                  // name of the machines in the pipeline
  Digest key;                             // the action's key without discovered inputs
  std::string subject;                    // "compile v0012 square_4096", for people
  std::vector<std::string> inputs;        // declared inputs: their content is part of the key
  std::vector<std::string> surroundings;  // other files that the command may read, sorted
  std::vector<std::string> outputs;
  std::string depfile;    // empty: none
  std::string toolchain;  // needed by the command: "cpython-3.11.2 jax-0.10.2 …"
};

// A command line, and how to run it.
struct Command {
  uint64_t id = 0;        // chosen by the caller, returned with the completion
  std::string line;       // as for /bin/sh -c
  std::string worker;     // command line of a persistent worker that can serve it; empty: none
  std::string arguments;  // the request to the worker: plain words
  std::map<std::string, std::string> environment;  // the whole environment; nothing is inherited
  double timeout_seconds = 0;                      // 0: no limit
  bool console = false;                            // has the terminal to itself
  bool is_sandboxed = false;                       // writes only into the folders `writable`
  std::vector<std::string> writable;
  bool keeps_leftovers = false;  // processes that it leaves in the background live on
  std::optional<Errand> errand;  // nullopt: the command runs here
};

struct Completed {
  uint64_t id = 0;
  int exit_status = 0;  // exit code, or 128 + the signal that ended it
  bool timed_out = false;
  std::string output = {};   // stdout and stderr as written
  double seconds = 0;        // wall time
  bool is_final = false;     // another attempt would be useless
  std::string machine = {};  // where the command ran; empty: this machine
};
struct Interrupted {};
struct Idle {};  // nothing finished within the tick
using RunnerEvent = std::variant<Completed, Interrupted, Idle>;

class Runner {
 public:
  virtual ~Runner() = default;
  // Asks for a slot for one more command, because other programs may share the machine's slots.
  // False: no slot is free now; wait() returns when a slot may be free. A slot is given back when
  // its command has ended. If no command was started with the slot, wait() gives it back.
  virtual bool acquire() = 0;
  virtual Status start(const Command& command) = 0;
  // Waits until a command has completed, the user interrupts, or about `tick_seconds` have passed.
  virtual Result<RunnerEvent> wait(double tick_seconds) = 0;
  // Returns how busy the machine is: how many processes ran or wanted to run, on average over the
  // last minute.
  virtual double load() = 0;
  // Ends all commands and their descendants, and returns when they are gone.
  virtual void stop() = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double monotonic_seconds() = 0;
  // Returns the time as ISO 8601, UTC, to the second. It is only for records, never for keys.
  virtual std::string utc() = 0;
  // Returns the present time on the scale of file times (FileState::changed).
  virtual int64_t file_time() = 0;
};

}  // namespace evolve
