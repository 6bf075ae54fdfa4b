// What is known of an action: its key parts, its result, and the record of an edge in a build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/digest.h"

namespace evolve {

// One thing that an action's result may depend on. Parts with equal (tag, name) are compared by
// `why`.
struct KeyPart {
  std::string
      tag;  // "rule", "command", "input", "output", "environment", "toolchain", "discovered" …
  std::string name;   // which one: a role or a path; may be empty
  std::string value;  // the text itself, or the digest in hex

  friend bool operator==(const KeyPart&, const KeyPart&) = default;
};

// An output that is another name of something, and no file of its own.
struct OutputLink {
  size_t output = 0;   // which one
  std::string target;  // what a symbolic link says; of a hard link the other name, symbolic (key.h)
  bool is_hard = false;

  friend bool operator==(const OutputLink&, const OutputLink&) = default;
};

// What a run of an action gave.
struct ActionResult {
  Digest key;
  Digest declared_key;                  // the key without the discovered inputs
  std::vector<KeyPart> parts;           // what `key` was made of
  std::vector<std::string> discovered;  // paths that the run read besides its declared inputs
  std::vector<Digest> outputs;          // of the edge's outputs, in their order
  std::vector<OutputLink>
      links;  // those of them that are links; their digests are of what they lead to
  std::string
      verdict;  // of the step's report: "ok", "rejected", "not_reached"; empty where it has none
  std::string output;    // what the command printed; told again where the result is restored
  double seconds = 0;    // wall time of the run
  std::string paid_by;   // the first output of the edge that ran it, symbolic (key.h)
  std::string built_at;  // UTC
  std::string built_on;  // the machine's name; empty in results of old

  // False: the command did not write some output, so this is no result to restore.
  [[nodiscard]] bool has_all_outputs() const {
    return std::find(outputs.begin(), outputs.end(), missing_digest()) == outputs.end();
  }
  // Null: that output is a file of its own.
  [[nodiscard]] const OutputLink* link_of(size_t which) const {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const OutputLink& link) { return link.output == which; });
    return found == links.end() ? nullptr : &*found;
  }
};

// How an edge of a build ended.
enum class Outcome { hit, ran, joined, failed };

// "hit", "ran", "joined" (another edge of this build ran the same action), "failed". Stored: never
// change.
const char* outcome_name(Outcome outcome);

// The outcome of one edge in one build.
struct EdgeRecord {
  std::string output;  // the edge's first output, symbolic (key.h)
  std::string step;
  Outcome outcome = Outcome::hit;
  std::string reason;  // why it ran: "no record", "input 'x': a -> b"; empty for a hit
  ActionResult result;
};

}  // namespace evolve
