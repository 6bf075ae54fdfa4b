// The ledger's rounds: their selections, their records (engine/core/record.h), and the results that
// came with imported records. These are the tables `round`, `record`, `imported_record` and
// `imported`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/action_table.h"
#include "engine/core/action.h"

namespace evolve::cache {

// The selection that ended a round, as the select step wrote it.
struct RoundRecord {
  int number = 0;
  std::string recorded;   // UTC
  std::string selection;  // the text of selection.json
};

// The record of a round, which adds to the record of the round before.
struct RecordedRound {
  int64_t id = 0;
  int64_t before = 0;  // 0: none
  std::string campaign;
  int round = 0;
  std::string recorded;  // UTC, when it was first stored
  std::string text;
};

// The origin of a record: a build of this state folder, or an imported bundle file.
enum class RecordOrigin { own, imported };

class RoundTable {
 public:
  // All arguments must outlive the table. `build` is the number of the build under way.
  RoundTable(Database& database, ActionTable& results, const int64_t& build)
      : database_(&database), results_(&results), build_(&build) {}

  // Records a round's selection, unless it is the round's last one already.
  Status record_selection(const std::string& campaign, const RoundRecord& round);
  // Returns the last selection of each round, in the order of rounds.
  Result<std::vector<RoundRecord>> selections(const std::string& campaign);

  // Stores a record, unless it is the round's last one already. Returns its number, new or old.
  Result<int64_t> add_record(const RecordedRound& record, RecordOrigin origin = RecordOrigin::own);
  // Returns whether a record came with a bundle file and no build here has made the same record.
  Result<bool> is_imported(int64_t record);
  // Return a record by its number, or the last record of a round. Nullopt: there is no such record.
  Result<std::optional<RecordedRound>> find_record(int64_t id);
  Result<std::optional<RecordedRound>> last_record(const std::string& campaign, int round);
  Status for_each_record(const std::function<Status(const RecordedRound&)>& visit);
  // Returns the campaigns that have records, sorted by name.
  Result<std::vector<std::string>> campaigns();

  // Stores a result that came with an imported record. Replays use such results, but builds do
  // not.
  Status add_imported(const ActionResult& result);
  // Returns an action result that was recorded here. If there is none, returns one that came with
  // an imported record.
  Result<std::optional<ActionResult>> recall_any(const Digest& key);

 private:
  using Binding = std::function<void(Statement&)>;
  // Calls `visit` for the rows of the table `record` that `where`, which is SQL, selects.
  Status records(const std::string& where, const Binding& bind,
                 const std::function<Status(const RecordedRound&)>& visit);
  Result<std::optional<RecordedRound>> record_where(const std::string& where, const Binding& bind);

  Database* database_;
  ActionTable* results_;
  const int64_t* build_;
};

}  // namespace evolve::cache
