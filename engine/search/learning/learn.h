// The rule for what a campaign's variants teach: mutators propose, the results of their variants
// decide, and a person has the last word. Pure, and computed from the whole history each time, so
// that nothing depends on when it is asked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/history/history.h"
#include "engine/search/learning/learnings.h"

namespace evolve::search {

// How a campaign is judged, up to a round.
struct LearnRule {
  double effect = 0.05;  // the least gain over the best parent that is a success, as a share
  int round = 0;
  std::string kernel;                 // its name
  std::optional<TimeKind> time_kind;  // as in a selection; so are the next two
  double resolution = 0;
  bool is_relative = true;
};

// Returns the rule after a selection. External error: `spec` is no spec.json.
Result<LearnRule> learn_rule(const Selection& selection, const nlohmann::json& spec, double effect);

// A learning that a mutator proposes and no rule accepts.
struct ProposedLearning {
  bool is_by_model = false;  // in a model's words
  std::string handle;  // its variant's id; in a model's words with the sentence's number: "v0012.1"
  Learning learning;   // without an id
  std::string outcome;  // what became of its variant
};

// The kinds of proposed learnings that are returned.
enum class Proposals { none, of_models, all };

struct Lessons {
  Learnings accepted;                      // a person's entries as they are, then the rule's
  std::vector<ProposedLearning> proposed;  // the oldest first
};

// Returns the entries of a person's file that hold once a round is done. An entry whose field
// "Since" is "round 5, matmul" was written when round 5 of the kernel matmul was done. For that
// kernel it holds once round 5 is done, so round 6 is the first to use it. All other entries hold
// from the start.
Learnings learnings_in_round(Learnings by_person, int round, const std::string& kernel);

// Learns from the whole history. A success is a variant that is faster than the best of its
// parents, and than the seed, by the rule's effect, and by more than a tie (contest.h). A failure
// is a rejection that the campaign had not seen: a new step, kind or reason, whatever the numbers
// in the reason. A model writes its learnings before its variant is judged. So a rejection is
// reported in the step's words, and does not support the model's words.
//
// The same title, the same change of a sweep, or the same rejection makes one entry, with all its
// evidence. If a person wrote such an entry, the evidence goes there. An answer that was no kernel
// (a rejection by adopt) teaches nothing, and neither does a near-duplicate.
Lessons learn(const History& history, const Learnings& by_person, const LearnRule& rule,
              Proposals proposals = Proposals::all);

// Normalises a text, so that two forms of a sentence are equal: small letters, without marks and
// further blanks.
std::string normalised_sentence(std::string_view text);

}  // namespace evolve::search
