// A build that has nothing to do, without a look at the graph: by the note of the last one
// (engine/build/build_note.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/session.h"
#include "engine/build/build.h"
#include "engine/build/build_note.h"

namespace evolve {

class NullBuild {
 public:
  NullBuild(Session& session, const std::vector<std::string>& targets)
      : session_(session), state_(*session.state), targets_(targets) {}

  // The report of a build that has nothing to do, which is recorded as one; nullopt: it cannot be
  // told that this is one.
  Result<std::optional<nlohmann::json>> report(const SessionOptions& options);
  // Looks at what the manifest is made from, for note(). To be called before it is read.
  void look_at_sources();
  // Notes that `targets` are built, for the next time. `report` told of it, `record` is the number
  // of the last round's record.
  Status note(const std::vector<NodeId>& targets, Lookup& lookup, const BuildSummary& summary,
              const nlohmann::json& report, int64_t record);

 private:
  // All that an edge's result depends on, or that is told, besides files.
  [[nodiscard]] std::string asked(const std::vector<std::string>& environment) const;
  // Whether the ledger still has the record of what is noted.
  Result<bool> is_recorded(const nlohmann::json& about);
  // The digest of a record's text.
  Result<std::string> text_digest(int64_t record);

  Session& session_;
  State& state_;
  std::vector<std::string> targets_;
  std::vector<NotedFile> sources_;  // of the manifest and of the record, and this program
  std::string fault_;               // why those cannot be known; empty: they are
};

}  // namespace evolve
