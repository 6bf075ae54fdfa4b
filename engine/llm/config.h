// llm.json: a campaign's models, their prices, and the rules for choosing among them. The format is
// in engine/llm/README.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/llm/chat.h"

namespace evolve::llm {

// The way in which a proposal is made.
enum class Mode { rewrite, diff, crossover, repair };
constexpr size_t kModes = 4;
const char* mode_name(Mode mode);

// Prices in USD per million tokens.
struct Prices {
  double input = 0;
  double cached_input = 0;
  double output = 0;

  // Returns the cost in USD. The input tokens include the cached ones.
  [[nodiscard]] double cost(int64_t input_tokens, int64_t output_tokens,
                            int64_t cached_input_tokens = 0) const;
};
// Converts prices to the form that llm.json and prompt.json have, and back: each name ends with
// "_usd_per_million".
nlohmann::json prices_record(const Prices& prices);
Prices read_prices(const nlohmann::json& record);

struct Model {
  std::string name;
  ChatApi api = ChatApi::openai;
  std::string base_url;
  std::string key_variable;  // empty: no key is sent
  double weight = 1;
  Prices prices;
  std::optional<double> temperature;
  int64_t max_tokens = 16384;  // of a reply
  std::string max_tokens_key = "max_tokens";
  int64_t context_tokens = 131072;  // of prompt and reply together
  int64_t prompt_tokens = 32768;    // the longest prompt, as we estimate it
  double requests_per_minute = 0;   // 0: no limit of ours
  bool stream = true;
  bool has_seed = false;  // a seed is sent

  // The most that a prompt and its reply can cost, in USD and in tokens.
  [[nodiscard]] double worst_cost() const { return prices.cost(prompt_tokens, max_tokens); }
  [[nodiscard]] int64_t worst_tokens() const { return prompt_tokens + max_tokens; }
};

enum class Bandit { ucb, thompson };

struct Config {
  std::vector<Model> models;  // at least one; distinct names
  Bandit bandit = Bandit::ucb;
  double mode_weights[kModes] = {2, 2, 1, 1};
  // The price of judging a proposal, added to the price of asking for it. Only the choice of a
  // model uses it.
  double evaluation_usd = 0.05;
  std::optional<double> budget_usd;  // of the campaign
  std::optional<int64_t> budget_tokens;
  // The maximum number of exchanges of a place: 2 if a plan comes before the code. llm.json does
  // not have this value.
  int exchanges = 1;

  // The most that a place can cost with this model, in USD and in tokens.
  [[nodiscard]] double worst_cost(const Model& model) const {
    return exchanges * model.worst_cost();
  }
  [[nodiscard]] int64_t worst_tokens(const Model& model) const {
    return exchanges * model.worst_tokens();
  }
};

// Reads llm.json. Bad input: a departure from the format, with the key's place ("models[1].weight")
// and the nearest known name.
Result<Config> read_config(const nlohmann::json& from);

}  // namespace evolve::llm
