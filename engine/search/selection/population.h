// Who of a campaign is carried from a round to the next, and whose children the next round's
// variants are. Pure; all chance comes from the campaign's random seed and the round's number.
//
// A rule's `policy` is one of policy_names():
//
//   top         the best of all, `top_k` of them.
//   lineages    Glaucis' lineages. The first round's best `top_k` variants found one each, and so
//               does later a good one that is no lineage's child. A lineage is its best variant; a
//               round in which no child is faster leaves it stagnant for one round more. Where
//               there are more than `most_lineages`, the one that is stagnant for longest goes, of
//               several the slowest. Otherwise than there, "faster" is by more than a tie, unless
//               the rule is by_point; the best lineage never goes; and one that came to another's
//               program ends.
//   islands     `islands` of them, with the best `top_k` of each: variants compete with those of
//               their island alone. Every `migration_interval` rounds the best of each is offered
//               to the next one, in a ring.
//   map_elites  the best of each cell, by what the compiler made of the program (see cell_of); of
//               at most `most_cells` cells, the best (Mouret, Clune: Illuminating search spaces by
//               mapping elites, 2015). Parents are drawn from them, each with the same chance.
//   pareto      who is not beaten: nobody else is faster in a case, by more than a tie, and slower
//               in none. The best, then the best of each case, then the others; `top_k` of them.
//
// Where times are measured, who is measured at all (cut.h, race.h) hangs on the mean over the cases
// alone, whatever the policy: so many are measured again as survive, and as many more.
//
// The seed competes in the first round, but for `lineages`, whose founders are variants.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

std::vector<std::string> policy_names();

// The cell of a program, by its facts.json: "mxu vmem-1 mxu-2 block-19": what bounds it, the
// quarter of the VMEM that it allocates, the quarter of the matrix units' time that it uses (0 to
// 3), and the largest block that it copies, in powers of two of bytes.
std::string cell_of(const nlohmann::json& facts);

// Fills in the survivors of `selection`, whose ranking is there, who was given up, and the places
// of the next round; marks in the ranking who is the same as a survivor.
void populate(const SelectionRequest& request, Selection& selection);

}  // namespace evolve::search
