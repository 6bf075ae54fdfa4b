// The policies by which variants survive a round (population.h describes each policy). Each policy
// fills in the survivors. It also fills in the places of the next round, unless the places go to
// the survivors in turn.
#pragma once

#include "engine/search/selection/survival.h"

namespace evolve::search {

void keep_best(Survival& survival);
void keep_lineages(Survival& survival);
void keep_islands(Survival& survival);
void keep_elites(Survival& survival);
void keep_front(Survival& survival);

}  // namespace evolve::search
