// Actions: their key parts, their results, and the record of an edge in a build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/digest.h"

namespace evolve {

// One thing that an action's result may depend on. `why` compares parts that have the same tag and
// name.
struct KeyPart {
  // The kind of the part: "rule", "command", "input", "output", "environment", "discovered" …
  std::string tag;
  std::string name;   // a role or a path; may be empty
  std::string value;  // the text itself, or the digest in hex

  friend bool operator==(const KeyPart&, const KeyPart&) = default;
};

// An output that is a symbolic or hard link, not a file of its own.
struct OutputLink {
  size_t output = 0;  // index of the output
  // The text of a symbolic link, or the other name of a hard link as a symbolic path
  // (machine_paths.h).
  std::string target;
  bool is_hard = false;

  friend bool operator==(const OutputLink&, const OutputLink&) = default;
};

// The result of a run of an action.
struct ActionResult {
  Digest key;
  Digest declared_key;                  // the key without the discovered inputs
  std::vector<KeyPart> parts;           // the parts that `key` was made of
  std::vector<std::string> discovered;  // paths that the run read besides its declared inputs
  std::vector<Digest> outputs;          // digests of the edge's outputs, in their order
  // Outputs that are links. The digest of a link is the digest of the file to which the link leads.
  std::vector<OutputLink> links;
  // Verdict of the step's report: "ok", "rejected", "not_reached"; empty: no verdict.
  std::string verdict;
  std::string output;    // printed by the command, and again when the result is restored
  double seconds = 0;    // wall time of the run
  std::string paid_by;   // first output of the edge that ran the action, symbolic (machine_paths.h)
  std::string built_at;  // UTC
  std::string built_on;  // the machine's name; empty in old results

  // Whether the command wrote all outputs. False: the result cannot be restored.
  [[nodiscard]] bool has_all_outputs() const {
    return std::find(outputs.begin(), outputs.end(), missing_digest()) == outputs.end();
  }
  // Returns the link of output `which`. Null: the output is not a link.
  [[nodiscard]] const OutputLink* link_of(size_t which) const {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const OutputLink& link) { return link.output == which; });
    return found == links.end() ? nullptr : &*found;
  }
};

// How an edge of a build ended.
enum class Outcome { hit, ran, joined, failed };

// Returns "hit", "ran", "joined" (another edge of this build ran the same action) or "failed". The
// names are stored, so they must never change.
const char* outcome_name(Outcome outcome);

// The outcome of one edge in one build.
struct EdgeRecord {
  std::string output;  // the edge's first output, symbolic (machine_paths.h)
  std::string step;
  Outcome outcome = Outcome::hit;
  std::string reason;  // why the edge ran ("never built"), or the error; empty for a hit
  ActionResult result = {};
};

}  // namespace evolve
