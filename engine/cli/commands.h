// The commands of `evolve`. Each returns its exit code through an Error or success; stdout has the
// result asked for, stderr all else.
#pragma once

#include <string>

#include "engine/cli/campaign.h"
#include "engine/cli/remote.h"
#include "engine/core/result.h"

namespace evolve::cli {

// Options that every command has.
struct CommonOptions {
  CampaignOptions campaign;
  bool json = false;
  bool color = false;             // of stderr
  bool has_told_notices = false;  // of the pipeline: who builds round after round tells them once
};

struct BuildCommand {
  std::vector<std::string> targets;
  int jobs = 0;        // 0: one a core
  int keep_going = 1;  // as Ninja's -k
  bool dry_run = false;
  bool quiet = false;
  std::vector<std::string> resources;  // "memory=16GiB", "tpu=4"
  std::string trace;                   // file for the build's timeline; empty: none
  RemoteSettings remote;
  int check_times = 0;  // how often pure steps run anew then, in other surroundings
  bool is_ci = false;   // plain progress, and a report and a summary in the state folder's ci
};

Status run_build(const CommonOptions& common, const BuildCommand& command);
// Builds round after round, until `rule` (engine/search/stop_rule.h), or where it is empty the
// pipeline's session.until, says that it is enough, or the last round is done. Rounds that are
// built already are gone through, whatever the rule says of them: they cost nothing.
Status run_rounds(const CommonOptions& common, const BuildCommand& command,
                  const std::string& rule);
Status run_show(const CommonOptions& common, const std::string& variant);
// Prints what a model was asked for a variant, word for word, its plan first where it wrote one,
// and with `has_reply` what it said.
Status run_prompt_show(const CommonOptions& common, const std::string& variant, bool has_reply);
// Writes the best variant's kernel to `out`, or to stdout where it is empty.
Status run_best(const CommonOptions& common, const std::string& out);
// `round` 0: all rounds.
Status run_log(const CommonOptions& common, int round);
// Removes the campaign's work folder, and with `all` the memo and the blobs too; never the ledger.
Status run_clean(const CommonOptions& common, bool all, bool dry_run);

}  // namespace evolve::cli
