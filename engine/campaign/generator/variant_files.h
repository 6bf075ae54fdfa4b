// The files that the judging steps write into a variant's folders.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace evolve {

// The names of a variant's programs for a case: the program for the target, and the program that
// the judge runs on the CPU.
constexpr std::string_view kDeviceProgram = "device.program";
constexpr std::string_view kJudgeProgram = "judge.program";

// The name of the device's program in rounds that earlier versions recorded.
constexpr std::string_view kOldDeviceProgram = "tpu.program";

enum class FileKind {
  record,     // variant.json
  kernel,     // kernel.py
  canonical,  // canonical.py
  lower,
  contract,
  novelty,
  check,
  interpret,
  compile,
  facts,
  screening,  // the samples of the short measurement
  time,
  timeline,  // for people only
  values,
};

struct VariantFile {
  FileKind kind;
  std::string folder;  // the variant's, or its case's

  [[nodiscard]] std::string path() const;
};
using VariantFiles = std::vector<VariantFile>;

// Returns the paths of the files whose kind is not among `left_out`.
std::vector<std::string> paths_without(const VariantFiles& files,
                                       std::initializer_list<FileKind> left_out);
std::vector<std::string> all_paths(const VariantFiles& files);

// Returns the kind of file that a judging step (engine/search/judging.h) writes for a case.
// REQUIRES: `step` is a judging step.
FileKind report_of_step(const std::string& step);

}  // namespace evolve
