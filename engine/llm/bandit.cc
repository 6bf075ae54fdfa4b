#include "engine/llm/bandit.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace evolve::llm {

namespace {

constexpr double kPriorReward = 0.5;
constexpr double kLeastCost = 1e-6;  // USD; avoids a division by 0

// Streams of random numbers, one for each use.
enum class Use : uint64_t { model = 1, mode = 2 };
search::Random stream_of(uint64_t seed, Use use, int round, int index) {
  constexpr int kPlaceBits = 24;
  const uint64_t place =
      (static_cast<uint64_t>(round) << kPlaceBits) + static_cast<uint64_t>(index);
  return {seed, (place << 2U) + static_cast<uint64_t>(use)};
}

double reward_of(const JudgedVariant& past, const PromptHistory& history) {
  if (past.rejection || !past.score || *past.score <= 0) return 0;
  return std::clamp(std::log2(*past.score / history.base_score(past.parents)), 0.0, 1.0);
}

// Draws from the normal distribution (Box, Muller 1958).
double draw_normal(search::Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

double draw_gamma(search::Random& random, double shape) {
  if (shape < 1) {
    const double below = 1 - random.unit();
    return draw_gamma(random, shape + 1) * std::pow(below, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    const double u = 1 - random.unit();
    if (v > 0 && std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

// Returns the index of the arm with the largest value per cost. Arms without pulls are left out.
template <typename Value>
size_t best_arm(const std::vector<Arm>& arms, Value value_of) {
  size_t best = arms.size();
  double best_value = 0;
  for (size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].pulls <= 0) continue;
    const double value = value_of(arms[i]) / std::max(arms[i].mean_cost(), kLeastCost);
    if (best == arms.size() || value > best_value) {
      best = i;
      best_value = value;
    }
  }
  return best == arms.size() ? 0 : best;
}

}  // namespace

std::vector<Arm> arms_of(const Config& config, const PromptHistory& history) {
  double most = 0;
  for (const Model& model : config.models) most = std::max(most, model.weight);
  std::vector<Arm> out;
  for (const Model& model : config.models) {
    Arm arm;
    arm.model = model.name;
    if (model.weight > 0) {
      arm.pulls = 1;
      arm.reward = kPriorReward * model.weight / most;
      arm.cost = config.worst_cost(model) + config.evaluation_usd;
      for (const JudgedVariant& past : history.entries) {
        if (past.model != model.name) continue;
        arm.pulls += 1;
        arm.reward += reward_of(past, history);
        arm.cost += past.cost_usd + config.evaluation_usd;
      }
    }
    out.push_back(arm);
  }
  return out;
}

size_t choose_by_ucb(const std::vector<Arm>& arms) {
  double all = 0;
  for (const Arm& arm : arms) all += arm.pulls;
  return best_arm(arms, [all](const Arm& arm) {
    return arm.mean_reward() + std::sqrt(2 * std::log(all) / arm.pulls);
  });
}

size_t choose_by_thompson(const std::vector<Arm>& arms, search::Random& random) {
  return best_arm(arms, [&random](const Arm& arm) {
    constexpr double kLeast = 1e-3;
    return draw_beta(random, std::max(arm.reward, kLeast),
                     std::max(arm.pulls - arm.reward, kLeast));
  });
}

double draw_beta(search::Random& random, double a, double b) {
  const double x = draw_gamma(random, a), y = draw_gamma(random, b);
  return x + y > 0 ? x / (x + y) : a / (a + b);
}

std::vector<Place> plan_round(const Config& config, const PromptHistory& history,
                              uint64_t random_seed, int round, int index) {
  std::vector<Arm> arms = arms_of(config, history);
  const double spent = history.cost_usd();
  const int64_t spent_tokens = history.tokens();
  std::vector<Place> out;
  double usd = 0;
  int64_t tokens = 0;
  for (int i = 0; i <= index; ++i) {
    search::Random random = stream_of(random_seed, Use::model, round, i);
    Place place;
    place.model =
        config.bandit == Bandit::ucb ? choose_by_ucb(arms) : choose_by_thompson(arms, random);
    place.earlier_usd = usd;
    place.earlier_tokens = tokens;
    const Model& model = config.models[place.model];
    const double worst = spent + usd + config.worst_cost(model);
    const int64_t worst_tokens = spent_tokens + tokens + config.worst_tokens(model);
    place.fits = (!config.budget_usd || worst <= *config.budget_usd) &&
                 (!config.budget_tokens || worst_tokens <= *config.budget_tokens);
    out.push_back(place);
    if (!place.fits) continue;
    usd += config.worst_cost(model);
    tokens += config.worst_tokens(model);
    Arm& arm = arms[place.model];
    const double reward = arm.mean_reward(), cost = arm.mean_cost();
    arm.pulls += 1;
    arm.reward += reward;
    arm.cost += cost;
  }
  return out;
}

Mode choose_mode(const Config& config, const std::vector<Mode>& possible, uint64_t random_seed,
                 int round, int index) {
  double all = 0;
  for (Mode mode : possible) all += config.mode_weights[static_cast<size_t>(mode)];
  if (all <= 0) return Mode::rewrite;
  double draw = stream_of(random_seed, Use::mode, round, index).unit() * all;
  Mode last = Mode::rewrite;
  for (Mode mode : possible) {
    const double weight = config.mode_weights[static_cast<size_t>(mode)];
    if (weight <= 0) continue;
    last = mode;
    if (draw < weight) return mode;
    draw -= weight;
  }
  return last;
}

}  // namespace evolve::llm
