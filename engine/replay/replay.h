// Repeating a past round: from the ledger and the blobs alone, or by running its pure steps anew.
#pragma once

#include <string>

#include "engine/app/answer.h"
#include "engine/app/options.h"
#include "engine/replay/rerun.h"

namespace evolve {

struct ReplayRequest {
  std::string round;         // "round-3"; empty: the last one
  int64_t record = 0;        // its number in the ledger; 0: the round's last one
  std::string out;           // folder for the files; empty: one in the state folder
  bool verify = false;       // run the pure steps anew in a fresh folder, and compare
  bool remeasure = false;    // measure anew in a fresh folder, and compare
  int64_t against = 0;       // the number of a record to compare with, instead
  int times = 0;             // run the pure steps anew so often, in other surroundings, and compare
  bool their_judge = false;  // run an imported round's own judge where it is not this version's
  int jobs = 0;              // 0: one a core
};

// Puts the round's files into a folder, or runs it again and compares, as the request says.
Result<Answer> replay(const SessionOptions& common, const ReplayRequest& request,
                      const Display& display);

}  // namespace evolve
