#include "engine/llm/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "engine/core/json_read.h"
#include "engine/core/json_text.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/scan.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

constexpr std::array<const char*, kModes> kModeNames = {"rewrite", "diff", "crossover", "repair"};
constexpr int64_t kMostTokens = 100'000'000;

// Reads one object, each key with a reader of its own. An unknown key is an error.
class Fields {
 public:
  using Read = std::function<Status(const json& value, const std::string& where)>;

  Fields& add(const std::string& key, Read read) {
    readers_.emplace(key, std::move(read));
    return *this;
  }
  Fields& text(const std::string& key, std::string& into) {
    return add(key, [&into](const json& value, const std::string& where) -> Status {
      if (!value.is_string()) return bad_input(where + ": expected a text");
      into = value.get<std::string>();
      return {};
    });
  }
  Fields& flag(const std::string& key, bool& into) {
    return add(key, [&into](const json& value, const std::string& where) -> Status {
      if (!value.is_boolean()) return bad_input(where + ": expected true or false");
      into = value.get<bool>();
      return {};
    });
  }
  // Adds a key whose value is a number of at least 0.
  template <typename Into>
  Fields& number(const std::string& key, Into& into) {
    return add(key, [&into](const json& value, const std::string& where) -> Status {
      const bool is_sound =
          value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
      if (!is_sound) return bad_input(where + ": expected a number of at least 0");
      into = value.get<double>();
      return {};
    });
  }
  template <typename Into>
  Fields& tokens(const std::string& key, Into& into) {
    return add(key, [&into](const json& value, const std::string& where) -> Status {
      const bool is_sound = value.is_number_unsigned() && value.get<uint64_t>() > 0 &&
                            value.get<uint64_t>() <= kMostTokens;
      if (!is_sound)
        return bad_input(
            fmt::format("{}: expected a whole number from 1 to {}", where, kMostTokens));
      into = value.get<int64_t>();
      return {};
    });
  }

  [[nodiscard]] Status read(const json& from, const std::string& where) const {
    if (!from.is_object())
      return bad_input(fmt::format("{}: expected an object", where.empty() ? "llm" : where));
    for (const auto& [key, value] : from.items()) {
      auto reader = readers_.find(key);
      const std::string place = where.empty() ? key : fmt::format("{}.{}", where, key);
      if (reader == readers_.end()) return unknown(key, place);
      TRY(reader->second(value, place));
    }
    return {};
  }

 private:
  [[nodiscard]] Status unknown(const std::string& key, const std::string& place) const {
    std::vector<std::string> known;
    for (const auto& one : readers_) known.push_back(one.first);
    return bad_input(fmt::format("{}: unknown key '{}'{}", place, key, suggestion(key, known)));
  }

  std::map<std::string, Read> readers_;
};

Fields::Read one_of(std::vector<std::string> names, std::function<void(size_t)> take) {
  return [names = std::move(names), take = std::move(take)](const json& value,
                                                            const std::string& where) -> Status {
    const std::string name = value.is_string() ? value.get<std::string>() : json_line(value);
    auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      return bad_input(fmt::format("{}: unknown '{}'{}", where, name, suggestion(name, names)));
    take(static_cast<size_t>(it - names.begin()));
    return {};
  };
}

Status check_address(const Model& model, const std::string& where) {
  std::string_view url = model.base_url;
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return bad_input(where + ".base_url: expected http://… or https://…");
  const std::string_view host = url.substr(url.find("//") + 2);
  if (host.substr(0, host.find('/')).find('@') != std::string_view::npos) {
    return bad_input(where + ".base_url: contains a name and password", {},
                     "put the key into the environment variable that 'key_variable' names");
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  if (model.api == ChatApi::anthropic && url.ends_with("/v1"))
    return bad_input(where + ".base_url: ends with /v1, which api 'anthropic' adds itself");
  return {};
}

// Whether an environment variable can have this name: letters, digits and '_', and no digit first.
bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), is_word_character);
}

Result<Model> read_model(const json& from, const std::string& where) {
  Model model;
  bool has_prompt_tokens = false;
  Fields fields;
  fields.text("name", model.name)
      .add("api",
           one_of({"openai", "anthropic"},
                  [&](size_t i) { model.api = i == 0 ? ChatApi::openai : ChatApi::anthropic; }))
      .add("max_tokens_key", one_of({"max_tokens", "max_completion_tokens"},
                                    [&](size_t i) {
                                      model.max_tokens_key =
                                          i == 0 ? "max_tokens" : "max_completion_tokens";
                                    }))
      .text("base_url", model.base_url)
      .text("key_variable", model.key_variable)
      .number("weight", model.weight)
      .number("input_usd_per_million", model.prices.input)
      .number("cached_input_usd_per_million", model.prices.cached_input)
      .number("output_usd_per_million", model.prices.output)
      .number("temperature", model.temperature)
      .tokens("max_tokens", model.max_tokens)
      .tokens("context_tokens", model.context_tokens)
      .tokens("prompt_tokens", model.prompt_tokens)
      .number("requests_per_minute", model.requests_per_minute)
      .flag("stream", model.stream)
      .flag("send_seed", model.has_seed);
  TRY(fields.read(from, where));
  for (const char* key : {"name", "base_url", "input_usd_per_million", "output_usd_per_million"}) {
    if (!from.contains(key)) return bad_input(fmt::format("{}: '{}' is missing", where, key));
  }
  if (!model.key_variable.empty() && !is_variable_name(model.key_variable)) {
    return bad_input(fmt::format("{}: 'key_variable' is not a valid name of a variable", where));
  }
  if (!from.contains("cached_input_usd_per_million"))
    model.prices.cached_input = model.prices.input;
  has_prompt_tokens = from.contains("prompt_tokens");
  const int64_t room = model.context_tokens - model.max_tokens;
  if (model.name.empty()) return bad_input(where + ".name: is empty");
  if (room <= 0) return bad_input(where + ": context_tokens must be more than max_tokens");
  if (has_prompt_tokens && model.prompt_tokens > room)
    return bad_input(where + ": prompt_tokens and max_tokens are more than context_tokens");
  model.prompt_tokens = std::min(model.prompt_tokens, room);
  TRY(check_address(model, where));
  return model;
}

Status read_models(const json& value, const std::string& where, std::vector<Model>& out) {
  if (!value.is_array() || value.empty())
    return bad_input(where + ": expected a list of at least one model");
  std::set<std::string> names;
  double weight = 0;
  for (const json& one : value) {
    TRY_ASSIGN(auto model, read_model(one, fmt::format("{}[{}]", where, out.size())));
    if (!names.insert(model.name).second)
      return bad_input(
          fmt::format("{}[{}].name: '{}' appears twice", where, out.size(), model.name));
    weight += model.weight;
    out.push_back(std::move(model));
  }
  if (weight <= 0) return bad_input(where + ": all weights are 0");
  return {};
}

}  // namespace

const char* mode_name(Mode mode) {
  return kModeNames[static_cast<size_t>(mode)];
}

json prices_record(const Prices& prices) {
  return {{"input_usd_per_million", prices.input},
          {"cached_input_usd_per_million", prices.cached_input},
          {"output_usd_per_million", prices.output}};
}

Prices read_prices(const json& record) {
  return {amount_at(record, "input_usd_per_million").value_or(0),
          amount_at(record, "cached_input_usd_per_million").value_or(0),
          amount_at(record, "output_usd_per_million").value_or(0)};
}

double Prices::cost(int64_t input_tokens, int64_t output_tokens,
                    int64_t cached_input_tokens) const {
  constexpr double kMillion = 1e6;
  const int64_t cached = std::min(cached_input_tokens, input_tokens);
  return (static_cast<double>(input_tokens - cached) * input +
          static_cast<double>(cached) * cached_input +
          static_cast<double>(output_tokens) * output) /
         kMillion;
}

Result<Config> read_config(const json& from) {
  Config out;
  Fields modes, budget, fields;
  for (size_t i = 0; i < kModes; ++i) modes.number(kModeNames[i], out.mode_weights[i]);
  budget.number("usd", out.budget_usd).tokens("tokens", out.budget_tokens);
  fields
      .add("models",
           [&](const json& value, const std::string& where) {
             return read_models(value, where, out.models);
           })
      .add("bandit",
           one_of({"ucb", "thompson"},
                  [&](size_t i) { out.bandit = i == 0 ? Bandit::ucb : Bandit::thompson; }))
      .add("modes",
           [&](const json& value, const std::string& where) -> Status {
             // Modes that are not named have the weight 0.
             std::fill(std::begin(out.mode_weights), std::end(out.mode_weights), 0.0);
             return modes.read(value, where);
           })
      .number("evaluation_usd", out.evaluation_usd)
      .add("budget",
           [&](const json& value, const std::string& where) { return budget.read(value, where); });
  TRY(fields.read(from, ""));
  if (out.models.empty()) return bad_input("'models' is missing");
  return out;
}

}  // namespace evolve::llm
