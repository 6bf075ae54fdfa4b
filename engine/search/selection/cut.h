// The first cut of a round whose times are measured: what the model says is so slow that the device
// need not be asked. Pure.
//
// It is a race on modelled times, in which every time is known as well as a margin says. Of those
// that it rules out one is measured all the same, drawn from the campaign's random seed, so that a
// model that is wrong is found out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/selection/race.h"
#include "engine/search/selection/selection.h"

namespace evolve::search {

// The logarithm of a variant's modelled time by the seed's: the weighted mean over the cases.
// Nothing where one of them is not modelled.
std::optional<double> modelled_ratio(const std::map<std::string, double>& modelled,
                                     const std::map<std::string, double>& of_seed,
                                     const std::vector<BenchCase>& cases);

// As far apart as two modelled times must be, as a logarithm, for one to be ruled out: `margin` is
// the share that the pipeline asks for. A model that was seen to err gets as much as 95 of 100
// differences of two such errors stay below, where that is more; so few variants as three do not
// say.
double cut_width(double margin, const ModelError& so_far);

struct Modelled {
  std::string id;
  double ratio = 0;                                  // as modelled_ratio gives it
  std::map<std::string, std::string> programs = {};  // by case; empty: not known
};

struct CutEntry {
  std::string id;
  bool is_in = false;
  bool is_spot_check = false;  // in, although it is ruled out
  std::string reason;          // why it is ruled out
};

// `variants` without those that a step turned down; `leaders` may survive anyway: those of the
// rounds before, or the seed, at 0. Ruled out is what is slower than the best `top_k` by more than
// `width`. In the order of the variants.
std::vector<CutEntry> cut(const std::vector<Modelled>& variants,
                          const std::vector<Modelled>& leaders, size_t top_k, double width,
                          uint64_t draw);

}  // namespace evolve::search
