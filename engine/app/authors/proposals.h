// What people propose for a campaign's rounds: whose places there are, the files that fill them
// (engine/search/proposal/proposal_file.h), and whether a file can be what is proposed.
#pragma once

#include <string>
#include <vector>

#include "engine/app/campaign.h"
#include "engine/core/result.h"
#include "engine/graph/graph.h"
#include "engine/search/proposal/proposal_file.h"

namespace evolve {

// A place of a round that is a person's.
struct PersonPlace {
  std::string id;  // of the variant
  int round = 0;
  std::string path;         // of its file
  bool is_open = true;      // nobody has proposed anything yet
  std::string parent;       // whose child it is; empty: the round before was not built
  std::string parent_path;  // of the parent's kernel
};

// Bad input: `where` in the campaign nobody is asked for a kernel.
Error no_places(const Campaign& campaign, const std::string& where);
// The places of a round, if it has any; bad input where there is no such round.
Result<std::vector<PersonPlace>> places_of(const Campaign& campaign, int round);
// The place of that variant, or where `id` is empty the first that is open; bad input where there
// is none.
Result<PersonPlace> find_place(const Campaign& campaign, const std::string& id);

// Bad input, with a hint: a place that the targets need is open.
Status check_none_open(const Campaign& campaign, const Graph& graph,
                       const std::vector<NodeId>& targets);

// What is known of a proposal before any step has seen it.
struct CheckedProposal {
  std::string known_as;  // the first variant with this very source; empty: there is none
};
// Checks a proposal from the file `name` for a place: that it is Python, changes the EVOLVE block
// of its parent and nothing else. Bad input, with the line where there is one, where it does not.
Result<CheckedProposal> check_proposal(const Campaign& campaign, const PersonPlace& place,
                                       const search::ProposalFile& proposal,
                                       const std::string& name);

}  // namespace evolve
