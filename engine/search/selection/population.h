// The policies of selection, which choose the survivors of a round and the parents of the next
// round's variants. Pure: all chance comes from the campaign's random seed and the round's number.
//
// A rule's `policy` is one of policy_names():
//
//   top         The best `top_k` of all.
//   lineages    Glaucis' lineages. Each of the best `top_k` variants of the first round starts a
//               lineage. So does a later variant among its round's best `top_k` that is not a
//               lineage's child. A lineage is led by its best variant. A round in which no child is
//               faster counts as a stagnant round of the lineage. If there are more than
//               `most_lineages`, the most stagnant lineage ends. If several are equally stagnant,
//               the slowest of them ends. There are three differences from Glaucis. "Faster" means
//               by more than a tie (unless the rule is by_point). The best lineage never ends. A
//               lineage ends if it has the same program as another lineage.
//   islands     `islands` islands, with the best `top_k` of each. Variants compete only with
//               variants of their own island. Every `migration_interval` rounds the best of each
//               island is offered to the next island, in a ring.
//   map_elites  The best variant of each cell. The cell depends on the compiler's output (see
//               cell_of). At most `most_cells` cells survive, the best ones (Mouret, Clune:
//               Illuminating search spaces by mapping elites, 2015). Parents are drawn from the
//               survivors with equal chances.
//   pareto      The variants that are not beaten. One variant beats another if it is faster in a
//               case, by more than a tie, and slower in no case. The best comes first, then the
//               best of each case, then the others; `top_k` of them.
//
// If times are measured, the policy does not decide which variants are measured (cut.h, race.h).
// That decision depends only on the mean over the cases. At most twice as many variants are
// measured again as can survive.
//
// The seed competes in the first round, except with `lineages`, whose founders are variants.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/search/selection/selection.h"

namespace evolve::search {

std::vector<std::string> policy_names();

// Returns the cell of a program, from its facts.json, as "mxu vmem-1 mxu-2 block-19": the resource
// that bounds it, the quarter of the VMEM that it allocates, the quarter of the matrix units' time
// that it uses (0 to 3), and the largest block that it copies, in powers of two of bytes.
std::string cell_of(const nlohmann::json& facts);

// Completes `selection`, which already has its ranking. Fills in the survivors, the lineages that
// ended, and the places of the next round. Marks ranked variants that are the same as a survivor.
void populate(const SelectionRequest& request, Selection& selection);

}  // namespace evolve::search
