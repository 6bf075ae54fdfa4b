// Which model answers, and what it is asked for: choices that depend on the history, the random
// seed and the place in the round alone, so that no edge waits for another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/llm/config.h"
#include "engine/llm/history.h"
#include "engine/search/space/random.h"

namespace evolve::llm {

// What is known of a model. The reward of a proposal is log2 of its speedup over its best parent,
// between 0 (slower, or rejected) and 1 (twice as fast or more): a search keeps its best, so a loss
// costs no more than the try. To begin with each model has one imagined pull, at its worst cost, of
// half its weight's share of the largest weight: so weights are priors.
struct Arm {
  std::string model;
  double pulls = 0;
  double reward = 0;  // of all pulls
  double cost = 0;    // USD of all pulls, what judging them is worth in it

  [[nodiscard]] double mean_reward() const { return reward / pulls; }
  [[nodiscard]] double mean_cost() const { return cost / pulls; }
};

// In the order of the config's models; those of weight 0 have no pulls, and are never chosen.
std::vector<Arm> arms_of(const Config& config, const History& history);

// Index of the arm with the largest (mean + sqrt(2 ln N / n)) / cost: UCB1 (Auer, Cesa-Bianchi,
// Fischer: Finite-time analysis of the multiarmed bandit problem, 2002) by cost, as in KUBE
// (Tran-Thanh, Chapman, Rogers, Jennings: Knapsack based optimal policies for budget-limited
// multi-armed bandits, AAAI 2012). Of equal ones the first.
size_t choose_by_ucb(const std::vector<Arm>& arms);

// The same by a draw from Beta(reward, pulls - reward) by cost: Thompson sampling under a budget
// (Xia, Li, Qin, Yu, Liu: Thompson sampling for budgeted multi-armed bandits, IJCAI 2015), a reward
// between 0 and 1 counting as a share of a success. The imagined pull is the prior.
size_t choose_by_thompson(const std::vector<Arm>& arms, search::Random& random);

// A number of the Beta distribution, of two Gammas (Marsaglia, Tsang: A simple method for
// generating gamma variables, 2000). REQUIRES: a, b > 0.
double draw_beta(search::Random& random, double a, double b);

// One place of a round: its model, and whether the budget has room for the worst that it may cost.
struct Place {
  size_t model = 0;
  bool fits = true;
  double earlier_usd = 0;  // the worst case of the round's earlier places that fit
  int64_t earlier_tokens = 0;
};

// The places of a round up to number `index`, which is the last one of the result. Within a round
// nothing is known of the earlier places but who was chosen: they count as pulls of the mean
// reward, so that a round does not ask one model alone (batch selection by a "kriging believer";
// Ginsbourger, Le Riche, Carraro 2010).
std::vector<Place> plan_round(const Config& config, const History& history, uint64_t random_seed,
                              int round, int index);

// A mode drawn by the config's weights among those that can be; rewrite where none of them can.
Mode choose_mode(const Config& config, const std::vector<Mode>& possible, uint64_t random_seed,
                 int round, int index);

}  // namespace evolve::llm
