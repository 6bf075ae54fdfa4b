// Tests of the choice of a model: the effect of history, weights, costs and budget.
#include "engine/llm/bandit.h"

#include <fmt/format.h>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::llm;

namespace {

Config config_of(Bandit bandit, const std::vector<double>& weights,
                 const std::vector<double>& prices = {}) {
  Config out;
  out.bandit = bandit;
  for (size_t i = 0; i < weights.size(); ++i) {
    Model model;
    model.name = fmt::format("m{}", i);
    model.weight = weights[i];
    model.prices.output = prices.empty() ? 10 : prices[i];
    out.models.push_back(model);
  }
  return out;
}

// Adds `count` proposals of a model. Each has the score `score` relative to the seed; with a score
// of 0, each is rejected.
void add(PromptHistory& history, const std::string& model, int count, double score,
         double cost = 0.1) {
  for (int i = 0; i < count; ++i) {
    JudgedVariant past;
    past.id = VariantId(static_cast<int>(history.entries.size()));
    past.model = model;
    past.parents = {"v0000"};
    if (score > 0) {
      past.score = score;
    } else {
      past.rejection = search::Rejection{"check", "", "incorrect", "", {}};
    }
    past.cost_usd = cost;
    past.tokens = 1000;
    history.entries.push_back(past);
  }
}

std::vector<int> counts(const Config& config, const PromptHistory& history, int places,
                        uint64_t seed = 1) {
  std::vector<int> out(config.models.size());
  for (const Place& place : plan_round(config, history, seed, 1, places - 1)) ++out[place.model];
  return out;
}

}  // namespace

TEST_CASE("a model that is worth more is asked more often, by either rule") {
  for (Bandit bandit : {Bandit::ucb, Bandit::thompson}) {
    PromptHistory history;
    add(history, "m0", 30, 0);
    add(history, "m1", 30, 1.8);
    const auto asked = counts(config_of(bandit, {1, 1}), history, 20);
    CHECK(asked[1] > 2 * asked[0]);
  }
}

TEST_CASE("of two models that are equally good, the cheaper model is asked more often") {
  for (Bandit bandit : {Bandit::ucb, Bandit::thompson}) {
    PromptHistory history;
    add(history, "m0", 30, 1.4, 0.5);
    add(history, "m1", 30, 1.4, 0.05);
    const auto asked = counts(config_of(bandit, {1, 1}), history, 40);
    CHECK(asked[1] > asked[0]);
  }
}

TEST_CASE("a model that was seldom asked is tried, although another model is good") {
  PromptHistory history;
  add(history, "m0", 200, 1.3);
  CHECK(counts(config_of(Bandit::ucb, {1, 1}), history, 4)[1] > 0);
  CHECK(counts(config_of(Bandit::thompson, {1, 1}), history, 40)[1] > 0);
}

TEST_CASE("without a history weights decide, and a round asks more than one model") {
  for (Bandit bandit : {Bandit::ucb, Bandit::thompson}) {
    const auto asked = counts(config_of(bandit, {4, 1}), {}, 60);
    CHECK(asked[0] > asked[1]);
    CHECK(asked[1] > 0);
    CHECK(counts(config_of(bandit, {1, 0}), {}, 20)[1] == 0);
  }
}

TEST_CASE("a loss counts no more than a rejection, and a gain is over the parent") {
  PromptHistory history;
  history.scores["v0000"] = 2;
  add(history, "m0", 10, 1.5);
  add(history, "m1", 10, 0);
  add(history, "m2", 10, 3);
  const auto arms = arms_of(config_of(Bandit::ucb, {1, 1, 1}), history);
  CHECK(arms[0].reward == arms[1].reward);
  CHECK(arms[2].reward == Approx(0.5 + 10 * std::log2(1.5)));
}

TEST_CASE("places of a round are the same whoever computes them") {
  PromptHistory history;
  add(history, "m0", 3, 1.2);
  for (Bandit bandit : {Bandit::ucb, Bandit::thompson}) {
    const Config config = config_of(bandit, {1, 2, 1});
    const auto all = plan_round(config, history, 7, 3, 11);
    for (int i = 0; i < 12; ++i)
      CHECK(plan_round(config, history, 7, 3, i).back().model == all[static_cast<size_t>(i)].model);
  }
}

TEST_CASE("the budget has room for the worst case of a place and of those before it") {
  Config config = config_of(Bandit::ucb, {1});
  const double worst = config.models.front().worst_cost();
  PromptHistory history;
  add(history, "m0", 1, 1.1, 0.1);
  config.budget_usd = 0.1 + 2.5 * worst;
  const auto places = plan_round(config, history, 1, 1, 3);
  CHECK(places[0].fits);
  CHECK(places[1].fits);
  CHECK(!places[2].fits);
  CHECK(!places[3].fits);
  CHECK(places[3].earlier_usd == Approx(2 * worst));
  config.budget_usd.reset();
  config.budget_tokens = 1000 + config.models.front().worst_tokens();
  CHECK(plan_round(config, history, 1, 1, 0)[0].fits);
  CHECK(!plan_round(config, history, 1, 1, 1)[1].fits);
}

TEST_CASE("modes are drawn by their weights among those that can be") {
  Config config;
  std::map<Mode, int> drawn;
  for (int i = 0; i < 600; ++i)
    ++drawn[choose_mode(config, {Mode::rewrite, Mode::diff, Mode::crossover}, 1, 1, i)];
  CHECK(drawn[Mode::repair] == 0);
  CHECK(drawn[Mode::rewrite] > drawn[Mode::crossover]);
  CHECK(drawn[Mode::crossover] > 60);
  config.mode_weights[0] = config.mode_weights[1] = 0;
  CHECK(choose_mode(config, {Mode::rewrite, Mode::diff}, 1, 1, 0) == Mode::rewrite);
  CHECK(choose_mode(config, {Mode::diff, Mode::repair}, 1, 1, 0) == Mode::repair);
}

TEST_CASE("draws of the Beta distribution have its mean and variance") {
  search::Random random(3);
  for (const auto& [a, b] : {std::pair(0.3, 0.7), {2.0, 5.0}, {40.0, 10.0}}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double draw = draw_beta(random, a, b);
      REQUIRE((draw >= 0 && draw <= 1));
      sum += draw;
      squares += draw * draw;
    }
    const double mean = sum / kDraws, all = a + b;
    CHECK(mean == Approx(a / all).margin(0.01));
    CHECK(squares / kDraws - mean * mean == Approx(a * b / (all * all * (all + 1))).margin(0.005));
  }
}
