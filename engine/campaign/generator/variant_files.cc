#include "engine/campaign/generator/variant_files.h"

#include <algorithm>

namespace evolve {

namespace {

struct Name {
  FileKind kind;
  const char* file;
  std::string_view step = {};  // the judging step that writes it
};

constexpr Name kNames[] = {
    {.kind = FileKind::record, .file = "variant.json"},
    {.kind = FileKind::kernel, .file = "kernel.py"},
    {.kind = FileKind::canonical, .file = "canonical.py"},
    {.kind = FileKind::lower, .file = "lower.json", .step = "lower"},
    {.kind = FileKind::contract, .file = "contract.json", .step = "contract"},
    {.kind = FileKind::novelty, .file = "novelty.json", .step = "novelty"},
    {.kind = FileKind::check, .file = "check.json", .step = "check"},
    {.kind = FileKind::interpret, .file = "interpret.json", .step = "interpret"},
    {.kind = FileKind::compile, .file = "compile.json", .step = "compile"},
    {.kind = FileKind::facts, .file = "facts.json", .step = "analyze"},
    {.kind = FileKind::screening, .file = "screening.json"},
    {.kind = FileKind::time, .file = "time.json", .step = "time"},
    {.kind = FileKind::timeline, .file = "timeline.json"},
    {.kind = FileKind::values, .file = "values.json", .step = "values"},
};

}  // namespace

std::string VariantFile::path() const {
  const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const Name& one) { return one.kind == kind; });
  return folder + "/" + name->file;
}

std::vector<std::string> paths_without(const VariantFiles& files,
                                       std::initializer_list<FileKind> left_out) {
  std::vector<std::string> out;
  for (const VariantFile& file : files) {
    if (std::find(left_out.begin(), left_out.end(), file.kind) == left_out.end())
      out.push_back(file.path());
  }
  return out;
}

std::vector<std::string> all_paths(const VariantFiles& files) {
  return paths_without(files, {});
}

FileKind report_of_step(const std::string& step) {
  return std::find_if(std::begin(kNames), std::end(kNames),
                      [&](const Name& name) { return name.step == step; })
      ->kind;
}

}  // namespace evolve
