#include "engine/app/models_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/app/results.h"
#include "engine/search/variant.h"

namespace evolve {

std::vector<Digest> models_keys(const Record& record) {
  std::vector<Digest> out;
  for (const RecordedStep& step : record.steps) {
    if (step.step == "models") out.push_back(step.key);
  }
  return out;
}

Result<std::vector<Digest>> models_keys(const Campaign& campaign, State& state) {
  std::vector<Digest> out;
  if (campaign.shape.files.llm.empty()) return out;
  auto status =
      state.ledger->rounds().for_each_record([&](const cache::RecordedRound& stored) -> Status {
        if (stored.campaign != campaign.name) return {};
        auto record = decode_record(stored.text);
        if (!record) return std::move(record).error().within(fmt::format("record {}", stored.id));
        for (const Digest& key : models_keys(*record)) out.push_back(key);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<AskedAgain> asked_again(const Campaign& campaign, const Graph& graph,
                               const std::vector<Pending>& pending, State& state) {
  AskedAgain out;
  std::map<int, bool> is_recorded;  // by round
  for (const Pending& one : pending) {
    if (one.need == Pending::Need::restore || graph.extension(one.edge, "step") != "exchange")
      continue;
    std::string variant = graph.extension(one.edge, "subject");
    variant.resize(std::min(variant.find(' '), variant.size()));  // "v0001 plan"
    // A round without a record is still open, so its answers are not final.
    const int round =
        round_of(campaign.shape, VariantId::parse(variant).value_or(VariantId()).number());
    if (!is_recorded.contains(round)) {
      TRY_ASSIGN(auto record, state.ledger->rounds().last_record(campaign.name, round));
      is_recorded[round] = record.has_value();
    }
    if (!is_recorded[round]) continue;
    const std::string path = graph.path(graph.edge(one.edge).outputs.front());
    TRY_ASSIGN(auto before, state.ledger->last_record(symbolic_path(path, campaign.machine())));
    if (!before || before->outcome == Outcome::failed) continue;
    ++out.answers;
    if (!out.variants.insert(variant).second) continue;
    // If a model has written the plan but not the code, there is no exchange yet.
    const nlohmann::json made = read_json(campaign.folder_of(variant) + "/variant.json");
    const auto exchange = made.is_object() ? made.find("exchange") : made.end();
    if (exchange == made.end() || !exchange->is_object()) continue;
    const auto cost = exchange->find("cost_usd");
    if (cost != exchange->end() && cost->is_number()) out.usd += cost->get<double>();
  }
  return out;
}

std::string text_of(const AskedAgain& asked) {
  if (asked.answers == 0) return "";
  return fmt::format(
      "up to {} {} of models may be requested again ({}), which cost {:.4f} usd; 'evolve why' "
      "names the edits that cause it",
      asked.answers, asked.answers == 1 ? "answer" : "answers", fmt::join(asked.variants, ", "),
      asked.usd);
}

}  // namespace evolve
