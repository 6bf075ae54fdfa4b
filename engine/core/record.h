// The record of a round: the digests of all that it was made from, and of all that each step gave.
// With the blobs it is the whole round: nothing of the machine, the time or the process is in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/result.h"
#include "engine/core/step_class.h"

namespace evolve {

// Paths are symbolic (key.h), "$work/round-1/v0001/kernel.py", or relative to the project's root.
// What a step made lies below $work; a source is $work/rounds.ninja, or lies below $rules, $steps
// or the project's root, or, as "$outside/home/me/kernel.py", elsewhere.
// A path that is no plain line of UTF-8 is named "$bytes/" and its characters, the odd ones as %0A.
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
  std::vector<RecordedFile> sources;  // by path: what no step made
  std::vector<RecordedStep> steps;    // in the order of the manifest

  friend bool operator==(const Record&, const Record&) = default;
};

// The name of a path in a record, and the path of a name.
std::string recorded_name(const std::string& path);
std::string path_of_recorded(const std::string& name);

// All that the record names, sources first; some bytes more than once.
std::vector<RecordedFile> files_of(const Record& record);

// The stored form, evolve-record-2 (cache/README.md): the same record is the same bytes.
std::string encode(const Record& record);
// Bad input where the text is no record; paths that lead out of their folder are none.
Result<Record> decode_record(std::string_view text);

// Takes what `later` adds to and changes in `record`: rounds are recorded one by one.
void add_to(Record& record, const Record& later);

// Where two records part: the first step, in the order of `a`, that only one has, or that had
// another key, or gave other bytes under the same key.
struct Parting {
  enum class Kind {
    missing,  // only `a` has it
    added,    // only `b` has it
    key,      // it was not the same action
    bytes,    // it was, and gave something else
  };
  Kind kind = Kind::key;
  std::optional<RecordedStep> a, b;
};
std::optional<Parting> first_parting(const Record& a, const Record& b);

}  // namespace evolve
