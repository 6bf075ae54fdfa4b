// `evolve build`, which other commands call, too.
#pragma once

#include <string>
#include <vector>

#include "engine/app/elsewhere/remote.h"
#include "engine/cli/commands.h"

namespace evolve::cli {

struct BuildCommand {
  std::vector<std::string> targets;
  int jobs = 0;        // 0: one per core
  int keep_going = 1;  // as Ninja's -k
  bool dry_run = false;
  bool quiet = false;
  std::vector<std::string> resources;  // "memory=16GiB", "tpu=4"
  std::string trace;                   // file for the build's timeline; empty: none
  RemoteSettings remote;
  int check_times = 0;  // how often pure steps run again afterwards, under other conditions
  bool is_ci = false;   // plain progress, and a report and a summary in the state folder's ci
};

// Adds the options on how edges are run.
void add_build_options(Commands& commands, Parser command, BuildCommand& build);

Status run_build(const CommonOptions& common, const BuildCommand& command);

}  // namespace evolve::cli
