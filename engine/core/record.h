// The record of a round: the digests of its sources, and of the outputs of each step. Together with
// the blobs the record is the whole round. It does not depend on the machine, the time or the
// process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/result.h"
#include "engine/core/step_class.h"

namespace evolve {

// A file of a record. Its path is relative to the project's root, or symbolic (machine_paths.h),
// such as "$work/round-1/v0001/kernel.py". Outputs of steps are below $work. A source is
// $work/rounds.ninja, or is below $rules, $steps or the project's root. A source elsewhere has a
// path such as "$outside/home/me/kernel.py". A path that is not a plain line of UTF-8 is written as
// "$bytes/" and its bytes, with unusual bytes in a form such as %0A.
struct RecordedFile {
  std::string path;
  Digest content;

  friend bool operator==(const RecordedFile&, const RecordedFile&) = default;
};

struct RecordedStep {
  std::string step;     // "lower"
  std::string subject;  // "v0001 square_4096"
  StepClass step_class = StepClass::pure;
  Digest key;
  std::vector<RecordedFile> outputs;  // in the edge's order

  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

struct Record {
  std::string toolchain;              // names and versions
  std::vector<RecordedFile> sources;  // files that no step made, by path
  std::vector<RecordedStep> steps;    // in the order of the manifest

  friend bool operator==(const Record&, const Record&) = default;
};

// recorded_name() returns the name of a path in a record, and path_of_recorded() the path of a
// name.
std::string recorded_name(const std::string& path);
std::string path_of_recorded(const std::string& name);

// Returns all files that the record names, sources first. Several of them may have the same bytes.
std::vector<RecordedFile> files_of(const Record& record);

// The name of the stored form (cache/README.md).
constexpr const char* kRecordFormat = "evolve-record-2";

// Returns the stored form. The same record gives the same bytes.
std::string encode(const Record& record);
// Reads the stored form. Bad input: the text is not a record, or a path leads out of its folder.
Result<Record> decode_record(std::string_view text);

// Adds the files and steps of `later` to `record`, in place of older ones with the same names. The
// record of a round has only the steps that the rounds before it do not have.
void add_to(Record& record, const Record& later);

// The first difference between two records: a step that only one record has, or that has another
// key or other outputs in the other record. Steps are compared in the order of `a`.
struct Parting {
  enum class Kind {
    missing,  // only `a` has the step
    added,    // only `b` has the step
    key,      // the actions differ
    bytes,    // the same action gave other bytes
  };
  Kind kind = Kind::key;
  std::optional<RecordedStep> a, b;
};
std::optional<Parting> first_parting(const Record& a, const Record& b);

}  // namespace evolve
