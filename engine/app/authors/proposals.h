// Proposals by people for a campaign's rounds: the places that people fill, the files that fill the
// places (engine/search/proposal/proposal_file.h), and the check of a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/core/result.h"
#include "engine/graph/graph.h"
#include "engine/search/proposal/proposal_file.h"

namespace evolve {

// A place in a round that a person fills.
struct PersonPlace {
  std::string id;  // of the variant
  int round = 0;
  std::string path;         // the proposal's file
  bool is_open = true;      // nobody has proposed anything yet
  std::string parent;       // the parent variant; empty: the round before was not built
  std::string parent_path;  // the parent's kernel
};

// Returns the error that the pipeline gives people no variants, which is bad input. The message
// ends with `where`.
Error no_places(const Campaign& campaign, const std::string& where);
// Returns the places of a round. Empty: a person proposes no variant of the round. Bad input: there
// is no such round.
Result<std::vector<PersonPlace>> places_of(const Campaign& campaign, int round);
// Returns the place of the variant `id`, or the first open place if `id` is empty. Bad input: there
// is no such place.
Result<PersonPlace> find_place(const Campaign& campaign, const std::string& id);

// Checks that people have filled every place that the targets need. Bad input, with a hint: a place
// is open.
Status check_none_open(const Campaign& campaign, const Graph& graph,
                       const std::vector<NodeId>& targets);

// The facts that are known about a proposal before any step reads it.
struct CheckedProposal {
  std::optional<VariantId> known_as;  // the first variant with this very source
};
// Checks a proposal for a place, from the file `name`: the proposal is Python, and changes only the
// EVOLVE block of its parent. Bad input, with the line if it is known: a check fails.
Result<CheckedProposal> check_proposal(const Campaign& campaign, const PersonPlace& place,
                                       const search::ProposalFile& proposal,
                                       const std::string& name);

}  // namespace evolve
