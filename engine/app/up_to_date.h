// The check whether a build has nothing to do. The check uses the note of the last build
// (engine/build/build_note.h), and does not read the graph.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/open_campaign.h"
#include "engine/build/build.h"
#include "engine/build/build_note.h"

namespace evolve {

class UpToDate {
 public:
  UpToDate(OpenCampaign& opened, const std::vector<std::string>& targets)
      : opened_(opened), state_(*opened.state), targets_(targets) {}

  // Returns the report of a build that has nothing to do, and records that build. Nullopt: there
  // may be something to do.
  Result<std::optional<nlohmann::json>> report(const CampaignFlags& options);
  // Looks at the files that the manifest is made from, for note(). Must be called before the
  // manifest is read.
  void look_at_sources();
  // Notes for the next build that `targets` are built. `report`: what this build reported.
  // `record`: the number of the last round's record.
  Status note(const std::vector<NodeId>& targets, Lookup& lookup, const BuildSummary& summary,
              const nlohmann::json& report, int64_t record);

 private:
  // Returns a digest of everything, except files, on which an edge's result or the report depends.
  [[nodiscard]] std::string asked(const std::vector<std::string>& environment) const;
  // Whether the ledger still has the record that a note names.
  Result<bool> is_recorded(const nlohmann::json& about);
  // Returns the digest of a record's text; empty: there is no such record.
  Result<std::string> text_digest(int64_t record);

  OpenCampaign& opened_;
  State& state_;
  std::vector<std::string> targets_;
  std::vector<NotedFile> sources_;  // the sources of manifest and record, and this program's file
  std::string fault_;               // why `sources_` are not known; empty: they are known
};

}  // namespace evolve
