#include "engine/llm/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/llm/bandit.h"
#include "engine/llm/record.h"
#include "engine/search/space/random.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

// An allowance for the text that the API wraps around messages.
constexpr int64_t kEnvelopeTokens = 64;

constexpr std::array<const char*, 8> kDropOrder = {"tried",      "inspirations", "learnings",
                                                   "rejections", "device",       "spec",
                                                   "bottleneck", "diagnosis"};

struct Choice {
  Mode mode = Mode::rewrite;
  Material material;
  std::vector<std::string> parents;
};

bool was_rejected(const PromptHistory& history, const std::string& id) {
  const JudgedVariant* past = history.find(id);
  return past != nullptr && past->rejection.has_value();
}

Choice choose(const PromptRequest& request) {
  const bool parent_is_rejected = was_rejected(request.history, request.parent.id);
  std::vector<Mode> possible;
  if (!parent_is_rejected) {
    possible = {Mode::rewrite, Mode::diff};
    if (!request.second_parent.id.empty()) possible.push_back(Mode::crossover);
  }
  if (parent_is_rejected || !request.rejected.id.empty()) possible.push_back(Mode::repair);
  Choice out;
  // A rejected parent is always repaired, whatever the weights.
  out.mode = parent_is_rejected ? Mode::repair
                                : choose_mode(request.config, possible, request.random_seed,
                                              request.round, request.index);
  out.material = {.spec = request.spec,
                  .evidence = request.evidence,
                  .history = request.history,
                  .parent = request.parent,
                  .lessons = request.lessons,
                  .stage = request.stage,
                  .plan = request.plan.text};
  out.parents = {request.parent.id};
  if (out.mode == Mode::crossover) {
    out.material.second_parent = request.second_parent;
    out.parents.push_back(request.second_parent.id);
  } else if (out.mode == Mode::repair && !request.rejected.id.empty()) {
    out.material.parent = request.rejected;
    // The cases' evidence is about the parent, not about the rejected variant, so it is left out.
    out.material.evidence.cases.clear();
    out.parents.insert(out.parents.begin(), request.rejected.id);
  }
  return out;
}

// The texts of a prompt.
struct Texts {
  std::string system, user;

  [[nodiscard]] int64_t tokens() const {
    return kEnvelopeTokens + estimated_tokens(system.size() + user.size());
  }
};

Texts fill(const Templates& templates, const std::string& name, const Slots& slots) {
  std::map<std::string, std::string> texts;
  for (const auto& [slot_name, slot] : slots) texts[slot_name] = slot_text(slot);
  return {templates.system.fill(texts), templates.by_name.at(name).fill(texts)};
}

// Drops entries, in kDropOrder, until at least `bytes` are dropped or no entry is left. False:
// there was no entry to drop.
bool drop(Slots& slots, size_t bytes) {
  size_t dropped = 0;
  for (const char* name : kDropOrder) {
    std::vector<std::string>& entries = slots[name].entries;
    size_t count = 0;
    while (count < entries.size() && dropped < bytes) dropped += entries[count++].size() + 1;
    entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(count));
    if (dropped >= bytes) return true;
  }
  return dropped > 0;
}

json left_out(const Slots& all, const Slots& kept) {
  json out = json::array();
  for (const char* name : kDropOrder) {
    auto before = all.find(name);
    if (before == all.end()) continue;
    const size_t count = before->second.entries.size();
    const size_t left = count - kept.at(name).entries.size();
    if (left > 0) out.push_back({{"slot", name}, {"entries", left}, {"of", count}});
  }
  return out;
}

// Returns both records: the question's request.json, and `prompt` with the digest of request.json.
Prompt with_request(json prompt, const Question& question) {
  json request = request_record(question);
  prompt["request_digest"] = digest_of_request(request);
  return {std::move(request), std::move(prompt)};
}

Prompt rejected(json prompt, const std::string& kind, const std::string& reason) {
  prompt["verdict"] = "rejected";
  prompt["kind"] = kind;
  prompt["reason"] = reason;
  const Question question = {prompt["variant"], std::nullopt};
  return with_request(std::move(prompt), question);
}

std::string budget_words(const Config& config, const PromptHistory& history, const Place& place,
                         const Model& model) {
  if (config.budget_usd &&
      history.cost_usd() + place.earlier_usd + config.worst_cost(model) > *config.budget_usd) {
    return fmt::format(
        "the budget of {:.2f} USD has no room: spent {:.2f}, earlier places of the round at most "
        "{:.2f}, this one at most {:.2f}",
        *config.budget_usd, history.cost_usd(), place.earlier_usd, config.worst_cost(model));
  }
  return fmt::format(
      "the budget of {} tokens has no room: spent {}, earlier places of the round at most {}, this "
      "one at most {}",
      config.budget_tokens.value_or(0), history.tokens(), place.earlier_tokens,
      config.worst_tokens(model));
}

ChatRequest chat_of(const Model& model, Texts texts, const PromptRequest& request) {
  ChatRequest out;
  out.api = model.api;
  out.base_url = model.base_url;
  out.model = model.name;
  out.system = std::move(texts.system);
  out.messages = {{"user", std::move(texts.user)}};
  out.max_tokens = model.max_tokens;
  out.max_tokens_key = model.max_tokens_key;
  out.temperature = model.temperature;
  out.stream = model.stream;
  if (model.has_seed) {
    constexpr uint64_t kMost = uint64_t{1} << 31U;
    constexpr int kPlaceBits = 24;
    search::Random random(request.random_seed,
                          (static_cast<uint64_t>(request.round) << kPlaceBits) +
                              static_cast<uint64_t>(request.index));
    out.seed = static_cast<int64_t>(random.below(kMost));
  }
  return out;
}

}  // namespace

std::vector<std::string> Templates::files(Stage stage) {
  std::vector<std::string> out = {"system.md"};
  if (stage == Stage::plan) {
    out.emplace_back("plan.md");
    return out;
  }
  for (size_t i = 0; i < kModes; ++i)
    out.push_back(fmt::format("{}.md", mode_name(static_cast<Mode>(i))));
  return out;
}

Result<Templates> Templates::read(
    const std::string& folder, Stage stage,
    const std::function<Result<std::string>(const std::string& path)>& read_file) {
  Templates out;
  for (const std::string& file : files(stage)) {
    const std::string path = fmt::format("{}/{}", folder, file);
    TRY_ASSIGN(auto text, read_file(path));
    TRY_ASSIGN(auto parsed, PromptTemplate::parse(text, path));
    const std::string name = file.substr(0, file.find('.'));
    (name == "system" ? out.system : out.by_name[name]) = std::move(parsed);
  }
  return out;
}

Prompt make_prompt(const PromptRequest& request, const Templates& templates) {
  const Place place =
      plan_round(request.config, request.history, request.random_seed, request.round, request.index)
          .back();
  const Model& model = request.config.models[place.model];
  const Choice choice = choose(request);
  json out = {{"variant", request.id},  {"round", request.round},
              {"index", request.index}, {"mode", mode_name(choice.mode)},
              {"model", model.name},    {"parents", choice.parents}};
  if (request.stage == Stage::plan) out["stage"] = "plan";
  if (!place.fits) {
    return rejected(std::move(out), "budget",
                    budget_words(request.config, request.history, place, model));
  }
  if (const auto& problem = request.plan.problem)
    return rejected(std::move(out), problem->kind, problem->reason);
  const std::string name = request.stage == Stage::plan ? "plan" : mode_name(choice.mode);
  const Slots all = make_slots(choice.mode, choice.material);
  Slots slots = all;
  for (const char* one : kDropOrder) slots[one];  // makes every slot exist
  Texts texts = fill(templates, name, slots);
  while (texts.tokens() > model.prompt_tokens) {
    const auto excess = static_cast<size_t>(texts.tokens() - model.prompt_tokens) * kBytesPerToken;
    if (!drop(slots, excess)) {
      return rejected(
          std::move(out), "context",
          fmt::format(
              "the task, sources and format need about {} tokens, but the prompt may have {}",
              texts.tokens(), model.prompt_tokens));
    }
    texts = fill(templates, name, slots);
  }
  out["verdict"] = "ok";
  out["left_out"] = left_out(all, slots);
  out["estimate"] = {{"input_tokens", texts.tokens()},
                     {"worst_usd", request.config.worst_cost(model)},
                     {"spent_usd", request.history.cost_usd()},
                     {"earlier_usd", place.earlier_usd}};
  out["prices"] = prices_record(model.prices);
  out["connection"] = connection_record({model.key_variable, model.requests_per_minute});
  return with_request(std::move(out), {request.id, chat_of(model, std::move(texts), request)});
}

}  // namespace evolve::llm
