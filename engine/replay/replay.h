// Replay of a recorded round: its files from the ledger and the blobs, or a new run of its steps.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/app/options.h"
#include "engine/replay/rerun.h"

namespace evolve {

struct ReplayRequest {
  std::string round;         // "round-3"; empty: the last round
  int64_t record = 0;        // the record's number in the ledger; 0: the round's last
  std::string out;           // folder for the files; empty: a folder in the state folder
  bool verify = false;       // run the pure steps again in a fresh folder, and compare
  bool remeasure = false;    // measure again in a fresh folder, and compare
  int64_t against = 0;       // a record's number to compare with instead; 0: none
  int times = 0;             // runs of the pure steps to compare, under other conditions; 0: none
  bool their_judge = false;  // run an imported round's own judge if it is not this version's
  int jobs = 0;              // 0: one per core
};

// Puts the round's files into a folder, or runs it again and compares, as the request says.
Result<Answer> replay(const CampaignFlags& common, const ReplayRequest& request,
                      const Display& display);

}  // namespace evolve
