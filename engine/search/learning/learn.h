// What a campaign's variants teach, by rule: mutators propose, what became of their variants
// decides, and a person has the last word. Pure, and of the whole history each time, so that
// nothing depends on when it is asked.
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
  std::string kernel;     // its name
  std::string time_kind;  // as of a selection, what follows too
  double resolution = 0;
  bool is_relative = true;
};

// The rule as a selection.json and a spec.json have it. External error: one is no such record.
Result<LearnRule> read_learn_rule(const nlohmann::json& selection, const nlohmann::json& spec,
                                  double effect);

// What a mutator proposes and no rule accepts.
struct ProposedLearning {
  bool is_by_model = false;  // in the words of one
  std::string handle;   // its variant's id, with the number of the sentence where a model wrote it:
                        // "v0012.1"
  Learning learning;    // without an id
  std::string outcome;  // what became of its variant
};

// Which of those are told.
enum class Proposals { none, of_models, all };

struct Lessons {
  Learnings accepted;                      // a person's, as they are, before those of the rule
  std::vector<ProposedLearning> proposed;  // the oldest first
};

// What a person's file says once a round is done. An entry with the field "Since", "round 5,
// matmul", was written when that round was done, if the kernel is its own, and is told from the
// next one on; all others hold from the start.
Learnings learnings_in_round(Learnings by_person, int round, const std::string& kernel);

// A success is a variant that is faster than the best of its parents, and than the seed, by the
// rule's effect, and by more than a tie (contest.h). A failure is a rejection that the campaign had
// not seen: of that step and kind, and with that reason but for its numbers. What a model wrote was
// written before its variant was judged, so a rejection is told in the step's words, and says
// nothing for the model's. What is the same is one entry, with all its evidence: the same title,
// the same change of a sweep, the same rejection. Where it is a person's, its evidence goes there.
// An answer that was no kernel (a rejection by adopt) teaches nothing, and neither does a
// near-duplicate.
Lessons learn(const History& history, const Learnings& by_person, const LearnRule& rule,
              Proposals proposals = Proposals::all);

// What makes two texts the same sentence: small letters, without marks and further blanks.
std::string normalised_sentence(std::string_view text);

}  // namespace evolve::search
