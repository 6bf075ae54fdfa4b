// Which dump says what: the files that libtpu writes for --xla_jf_dump_to=DIR, by their names.
//
//   name    = [stamp "-"] module "-" [number "-"] stage "." ("txt" | "html")
//   module  = "TLP" (the top-level program) | the name of an HLO instruction: "gmm.1"
//   stage   = "packed-bundles-post-ra" | "vmem_report" | …
//
// The stamp is a time in nanoseconds, one for a program's TLP and later ones for what it calls; the
// number shifts with the options, and only a TLP's dump may have none. The compile step's archive
// has the names "module/stage.txt".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evolve::ir {

struct DumpName {
  uint64_t stamp = 0;  // 0: it has none
  std::string module;
  std::string stage;  // with its ending: "vmem_report.html"
};

constexpr std::string_view kTopLevel = "TLP";

// Takes a path apart; nullopt for what is no dump, and for what libtpu adds to every program
// ("<late-initialization>").
std::optional<DumpName> read_dump_name(std::string_view path);

// The dumps of one compiled program: the paths by "module/stage.txt".
using DumpPaths = std::map<std::string, std::string>;

// The dumps of a folder by program, in the order of their compilation. What comes before the first
// TLP is one, too.
std::vector<DumpPaths> group_dumps(const std::vector<std::string>& paths);

}  // namespace evolve::ir
