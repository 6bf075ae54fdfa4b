// A campaign on disk: the pipeline and its spec, the state folder, and the manifest made from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/campaign/generator/round.h"
#include "engine/campaign/pipeline.h"
#include "engine/campaign/spec.h"
#include "engine/core/machine_paths.h"
#include "engine/core/result.h"
#include "engine/graph/graph.h"

namespace evolve {

struct CampaignOptions {
  std::string pipeline;  // as given; empty: the only one there is
  std::string state;     // as given; empty: .evolve beside the pipeline
  bool is_sandboxed = true;
  bool is_local = false;  // all steps run on this machine
};

// Paths are relative to the project's root where they are below it, and the process runs in the
// root.
struct Campaign {
  std::string name;   // the pipeline's file name without its ending
  std::string state;  // memo.db, ledger.db, blobs
  std::string work;   // the campaign's own folder below it: manifests, rounds
  std::string python;
  std::string rules;
  Pipeline pipeline;
  Spec spec;
  CampaignShape shape;

  std::string path;  // of the pipeline

  // Files that the manifest is made of, though no edge reads them.
  [[nodiscard]] std::vector<std::string> sources() const;
  [[nodiscard]] std::string manifest() const { return work + "/build.ninja"; }
  [[nodiscard]] std::string rounds() const { return work + "/rounds.ninja"; }  // included by it
  [[nodiscard]] std::vector<MachineBinding> machine() const;
  // The folder of a variant, of the seed ("v0000") or of the XLA baseline ("xla"); empty: no such
  // one.
  [[nodiscard]] std::string folder_of(const std::string& variant) const;

  std::string steps;        // folder of the C++ step programs
  std::string device_kind;  // what times are measured on; empty: they are modelled
};

// Finds and reads pipeline and spec, and changes to the project's root: the nearest folder at or
// above the pipeline's that has rules/steps.ninja, or else the pipeline's own.
Result<Campaign> open_campaign(const CampaignOptions& options);
// The options that open the same campaign again, wherever the process runs by then.
CampaignOptions reopening(CampaignOptions options, const Campaign& campaign);
// "-p PIPELINE", and "--state FOLDER" where that is not the usual one: the campaign, for a command
// that the user pastes where evolve was started.
std::string arguments_of(const Campaign& campaign);

// A path of a campaign's from where evolve was started, or absolute where it does not lie below
// that; in one line. REQUIRES: the path is as the campaign has it, from the root that the process
// runs in.
std::string shown_path(const std::string& path);

// The state folder of a pipeline's campaign where none is named.
std::string usual_state(const std::string& pipeline);

// Where a campaign's records lie, whether or not its files can be read.
struct CampaignPlace {
  std::string state;  // absolute
  std::string name;   // empty: not said, and the state folder may hold several
};
Result<CampaignPlace> find_campaign(const CampaignOptions& options);

// The folder of the rules: the project's, or else those that this binary was built with.
std::string find_rules(const std::string& root);

// The interpreter of the steps: $EVOLVE_PYTHON, or that of the project whose `rules` are given, or
// of the one that this binary was built in.
std::string find_python(const std::string& rules = "");

// Bad input: a kind of device that would be more than a word to the shell, or a path that a
// manifest has no form for.
Status check_bindings(const Campaign& campaign);

// Writes build.ninja, which binds `toolchain` and this machine's paths, beside the rounds.ninja
// that is there, and reads it.
Result<std::unique_ptr<Graph>> read_manifest(const Campaign& campaign,
                                             const std::string& toolchain);

// Writes rounds.ninja and build.ninja, which binds `toolchain` and this machine's paths, and reads
// them back: what is built is what stands there.
Result<std::unique_ptr<Graph>> write_manifest(const Campaign& campaign,
                                              const std::string& toolchain);

}  // namespace evolve
