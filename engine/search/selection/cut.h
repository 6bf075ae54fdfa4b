// The first cut of a round whose times are measured. It rules out variants that are so slow in the
// model that the device need not measure them. Pure.
//
// The cut is a race on modelled times, each known to within a margin. One of the variants that the
// cut rules out is measured nevertheless, so that a wrong model shows. The campaign's random seed
// determines which one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/selection/race.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// Returns the logarithm of a variant's modelled time divided by the seed's: the weighted mean over
// the cases. Nullopt: a case is not modelled.
std::optional<double> modelled_ratio(const std::map<std::string, double>& modelled,
                                     const std::map<std::string, double>& of_seed,
                                     const std::vector<BenchCase>& cases);

// Returns the width of the cut: if two modelled times differ by more, as a logarithm, the slower
// one may be ruled out. `margin` is the share that the pipeline asks for. If the model is known to
// err more, the width is so large that 95 of 100 differences of two errors stay below it. With
// fewer than three compared variants the model's error is not used.
double cut_width(double margin, const ModelError& so_far);

// Rules out the variants that are slower than the best `top_k` by more than `width`. `variants`:
// the variants that no step rejected. `leaders`: variants that may survive anyway. These are
// variants of earlier rounds, or the seed, whose mean is 0. The mean of each standing is its
// modelled_ratio(); the half width of the standings does not count. `draw` is a random number that
// chooses the spot check. The admissions are in the order of the variants.
std::vector<Admission> cut(std::vector<Contender> variants, std::vector<Contender> leaders,
                           size_t top_k, double width, uint64_t draw);

}  // namespace evolve::search
