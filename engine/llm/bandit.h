// The bandit, which chooses the model that a place of a round asks, and the mode. The choices
// depend only on the history, the random seed and the place, so no place waits for another place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/llm/config.h"
#include "engine/llm/history.h"
#include "engine/search/space/random.h"

namespace evolve::llm {

// The pulls of a model: each proposal is one. The reward of a pull is log2 of the proposal's
// speedup over its best parent, from 0 (slower, or rejected) to 1 (twice as fast or more). No
// reward is below 0, because the search keeps its best variant and so a bad proposal loses only its
// cost. Each model starts with one imagined pull at the model's worst cost. Its reward is half of
// the model's weight, divided by the largest weight. So the weights act as priors.
struct Arm {
  std::string model;
  double pulls = 0;
  double reward = 0;  // sum of all pulls
  double cost = 0;    // USD, sum of all pulls, with the price of judging them

  [[nodiscard]] double mean_reward() const { return reward / pulls; }
  [[nodiscard]] double mean_cost() const { return cost / pulls; }
};

// Returns the arms in the order of the config's models. Models of weight 0 have no pulls and are
// never chosen.
std::vector<Arm> arms_of(const Config& config, const PromptHistory& history);

// Returns the index of the arm with the largest (mean reward + sqrt(2 ln N / n)) / mean cost, where
// n are the arm's pulls, and N the pulls of all arms. This is UCB1 (Auer, Cesa-Bianchi, Fischer:
// Finite-time analysis of the multiarmed bandit problem, 2002) divided by cost, as in KUBE
// (Tran-Thanh, Chapman, Rogers, Jennings: Knapsack based optimal policies for budget-limited
// multi-armed bandits, AAAI 2012). Ties go to the first arm.
size_t choose_by_ucb(const std::vector<Arm>& arms);

// Returns the index of the arm with the largest draw from Beta(reward, pulls - reward), divided by
// its mean cost. This is Thompson sampling under a budget (Xia, Li, Qin, Yu, Liu: Thompson sampling
// for budgeted multi-armed bandits, IJCAI 2015). A reward between 0 and 1 counts as a share of a
// success. The imagined pull is the prior.
size_t choose_by_thompson(const std::vector<Arm>& arms, search::Random& random);

// Draws from the Beta distribution, by two draws from Gamma distributions (Marsaglia, Tsang: A
// simple method for generating gamma variables, 2000). REQUIRES: a, b > 0.
double draw_beta(search::Random& random, double a, double b);

// One place of a round: its model, and whether the budget has room for its worst case.
struct Place {
  size_t model = 0;
  bool fits = true;
  double earlier_usd = 0;  // the worst case of the round's earlier places that fit
  int64_t earlier_tokens = 0;
};

// Returns the places of a round up to number `index`, which comes last in the result. Of the
// round's earlier places only the models are known. So an earlier place that fits the budget counts
// as a pull with its model's mean reward and cost. Thus a round does not ask only one model (batch
// selection by a "kriging believer"; Ginsbourger, Le Riche, Carraro 2010).
std::vector<Place> plan_round(const Config& config, const PromptHistory& history,
                              uint64_t random_seed, int round, int index);

// Draws a mode by the config's weights among the possible modes. If no possible mode has a weight,
// the mode is rewrite.
Mode choose_mode(const Config& config, const std::vector<Mode>& possible, uint64_t random_seed,
                 int round, int index);

}  // namespace evolve::llm
