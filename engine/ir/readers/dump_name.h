// The names of the files that libtpu writes for --xla_jf_dump_to=DIR, which say what each dump is.
//
//   name    = [stamp "-"] module "-" [number "-"] stage "." ("txt" | "html")
//   module  = "TLP" (the top-level program) | the name of an HLO instruction: "gmm.1"
//   stage   = "packed-bundles-post-ra" | "vmem_report" | …
//
// The stamp is a time in nanoseconds. All dumps of a program's TLP have one stamp; the modules that
// it calls have later ones. The number shifts with the options, and only a TLP's dump may have
// none. The compile step's archive has the names "module/stage.txt".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evolve::ir {

struct DumpName {
  uint64_t stamp = 0;  // 0: no stamp
  std::string module;
  std::string stage;  // with its ending: "vmem_report.html"
};

constexpr std::string_view kTopLevel = "TLP";

// Splits a path. Nullopt: the path does not belong to a dump, or it belongs to a dump that libtpu
// adds to every program ("<late-initialization>").
std::optional<DumpName> read_dump_name(std::string_view path);

// The dumps of one compiled program: the paths by "module/stage.txt".
using DumpPaths = std::map<std::string, std::string>;

// Returns the dumps of a folder by program, in the order of their compilation. The dumps before the
// first TLP are a program, too.
std::vector<DumpPaths> group_dumps(const std::vector<std::string>& paths);

}  // namespace evolve::ir
