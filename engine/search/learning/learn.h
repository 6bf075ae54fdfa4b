// The rule by which a campaign learns from its variants. Mutators propose learnings, the results of
// their variants decide, and a person can overrule both. Pure: the rule computes everything from
// the whole history each time, so the result does not depend on when it is computed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/search/history/history.h"
#include "engine/search/learning/learnings.h"

namespace evolve::search {

// The settings of the rule, for the history up to a round.
struct LearnRule {
  double effect = 0.05;  // the least gain over the best parent that is a success, as a share
  int round = 0;
  std::string kernel;                 // its name
  std::optional<TimeKind> time_kind;  // this and the next two: as in a selection
  double resolution = 0;
  bool is_relative = true;
};

// Returns the rule for the history up to the selection's round. External error: `spec` is not a
// spec.json.
Result<LearnRule> learn_rule(const Selection& selection, const nlohmann::json& spec, double effect);

// A learning that a mutator proposes and that the rule does not accept.
struct ProposedLearning {
  bool is_by_model = false;  // in a model's words
  std::string handle;   // its variant's id; for a model's words also a sentence's number: "v0012.1"
  Learning learning;    // without an id
  std::string outcome;  // the result of its variant
};

// The kinds of proposed learnings that are returned.
enum class Proposals { none, of_models, all };

struct Lessons {
  Learnings accepted;                      // a person's entries, then the rule's
  std::vector<ProposedLearning> proposed;  // the oldest first
};

// Returns the entries of a person's file that hold once a round is done. An entry whose field
// "Since" is "round 5, matmul" was written when round 5 of the kernel matmul was done. For that
// kernel the entry holds once round 5 is done, so round 6 is the first round that uses it. All
// other entries hold from the start.
Learnings learnings_in_round(Learnings by_person, int round, const std::string& kernel);

// Learns from the whole history. A variant is a success if it is faster than the seed and than the
// best of its parents, by at least the rule's effect and by more than a tie (contest.h). A
// rejection is a failure of its own if its step, kind or reason is new. Numbers in the reason do
// not count. A model writes its learnings before its variant is judged. So a rejection is reported
// in the step's words, and does not support the model's words.
//
// Learnings with the same title, the same change, or the same rejection share one entry, which has
// all their evidence. If a person wrote that entry, the evidence is added to the person's entry. An
// answer that was not a kernel (a rejection by adopt) teaches nothing, and neither does a
// near-duplicate.
Lessons learn(const History& history, const Learnings& by_person, const LearnRule& rule,
              Proposals proposals = Proposals::all);

// Normalises a text, so that two forms of a sentence are equal. The result is in lower case,
// without quotation marks, asterisks, repeated blanks and punctuation at the end.
std::string normalised_sentence(std::string_view text);

}  // namespace evolve::search
