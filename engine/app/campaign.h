// A campaign on disk: the pipeline and its spec, the state folder, and the manifest made from them.
#pragma once

#include <functional>
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
  std::string pipeline;    // as given; empty: found by the rules of find_pipeline (campaign.cc)
  std::string state = {};  // as given; empty: .evolve next to the pipeline
  bool is_sandboxed = true;
  bool is_local = false;  // all steps run on this machine
  // Tells the user which pipeline was taken, where no option names one of several.
  std::function<void(const std::string& message)> tell = {};
};

// Paths below the project's root are relative to it, and the process runs in the root.
struct Campaign {
  std::string name;   // the pipeline's file name without its ending
  std::string state;  // folder of memo.db, ledger.db and blobs
  std::string work;   // the campaign's own folder below `state`: manifests, rounds
  std::string python;
  std::string rules;
  Spec spec;
  CampaignShape shape;

  std::string path;  // the pipeline file

  // Returns files that no edge reads, but from which the manifest is made or the steps are started.
  [[nodiscard]] std::vector<std::string> sources() const;
  [[nodiscard]] std::string manifest() const { return work + "/build.ninja"; }
  // The file that manifest() includes.
  [[nodiscard]] std::string rounds() const { return work + "/rounds.ninja"; }
  [[nodiscard]] std::vector<MachineBinding> machine() const;
  // Returns the folder of a variant, of the seed ("v0000") or of the XLA baseline ("xla"); empty:
  // the campaign has no such variant.
  [[nodiscard]] std::string folder_of(const std::string& variant) const;

  std::string steps;        // the folder of the C++ step programs
  std::string device_kind;  // the kind of device that measures times; empty: times are modelled
};

// Returns the pipelines here, or in the nearest folder above that has some, as the user may name
// them.
std::vector<std::string> find_pipelines();

// Finds and reads the pipeline and the spec, and changes to the project's root. The root is the
// nearest folder, from the pipeline's folder upwards, that has rules/steps.ninja, or else the
// pipeline's own folder.
Result<Campaign> open_campaign(const CampaignOptions& options);
// Returns options that open the same campaign again, whatever the current folder is then.
CampaignOptions reopening(CampaignOptions options, const Campaign& campaign);
// Returns "-p PIPELINE", and "--state FOLDER" unless that is the default: a campaign's arguments in
// a command that the user pastes where evolve was started.
std::string arguments_of(const Campaign& campaign);

// Returns a campaign's path for the user, in one line: relative to the folder where evolve was
// started, or absolute if the path does not lie below that folder. REQUIRES: the path is absolute,
// or relative to the root in which the process runs.
std::string shown_path(const std::string& path);

// Returns the default state folder of a pipeline's campaign.
std::string usual_state(const std::string& pipeline);

// The place of a campaign's records. The place can be found even if the campaign's files cannot be
// read.
struct CampaignPlace {
  std::string state;  // absolute
  std::string name;   // empty: not given; the state folder may hold several campaigns
};
Result<CampaignPlace> find_campaign(const CampaignOptions& options);

// The version of the rules with which this engine works: `rules_version` in rules/steps.ninja.
constexpr const char* kRulesVersion = "1";

// Returns the folder of the rules: the project's own folder, or else the nearest such folder above
// this binary.
std::string find_rules(const std::string& root = ".");

// Checks the values that build.ninja binds. Bad input: the device kind would be more than one word
// to the shell, a manifest cannot express a path, or JAX cannot use a path.
Status check_bindings(const Campaign& campaign);

// Writes build.ninja next to the existing rounds.ninja, and reads it. build.ninja binds `toolchain`
// and this machine's paths.
Result<std::unique_ptr<Graph>> read_manifest(const Campaign& campaign,
                                             const std::string& toolchain);

// Writes rounds.ninja and build.ninja, and reads them back, so that the files decide what is built.
// build.ninja binds `toolchain` and this machine's paths.
Result<std::unique_ptr<Graph>> write_manifest(const Campaign& campaign,
                                              const std::string& toolchain);

}  // namespace evolve
