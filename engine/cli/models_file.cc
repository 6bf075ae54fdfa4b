#include "engine/cli/models_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/cli/report.h"

namespace evolve::cli {

std::set<Digest> models_keys(const Record& record) {
  std::set<Digest> out;
  for (const RecordedStep& step : record.steps) {
    if (step.step == "models") out.insert(step.key);
  }
  return out;
}

Result<std::set<Digest>> models_keys(const Campaign& campaign, State& state) {
  std::set<Digest> out;
  if (campaign.shape.llm.empty()) return out;
  auto status = state.ledger->for_each_record([&](const cache::StoredRecord& stored) -> Status {
    if (stored.campaign != campaign.name) return {};
    auto record = decode_record(stored.text);
    if (!record) return std::move(record).error().within(fmt::format("record {}", stored.id));
    out.merge(models_keys(*record));
    return {};
  });
  if (!status) return std::move(status).error();
  return out;
}

Result<AskedAgain> asked_again(const Campaign& campaign, const Graph& graph,
                               const std::vector<Pending>& pending, State& state) {
  AskedAgain out;
  for (const Pending& one : pending) {
    if (one.need == Pending::Need::restore || graph.extension(one.edge, "step") != "exchange")
      continue;
    const std::string path = graph.path(graph.edge(one.edge).outputs.front());
    auto before = state.ledger->last_record(symbolic_path(path, campaign.machine()));
    if (!before) return std::move(before).error();
    if (!*before || (*before)->outcome == Outcome::failed) continue;
    ++out.answers;
    std::string variant = graph.extension(one.edge, "subject");
    variant.resize(std::min(variant.find(' '), variant.size()));  // "v0001 plan"
    if (!out.variants.insert(variant).second) continue;
    const nlohmann::json exchange = read_json(campaign.folder_of(variant) + "/variant.json")
                                        .value("exchange", nlohmann::json());
    if (exchange.is_object()) out.usd += exchange.value("cost_usd", 0.0);
  }
  return out;
}

std::string text_of(const AskedAgain& asked) {
  if (asked.answers == 0) return "";
  return fmt::format(
      "up to {} {} of models may be asked for again ({}), which cost {:.4f} usd; "
      "'evolve why' names the edits behind it",
      asked.answers, asked.answers == 1 ? "answer" : "answers", fmt::join(asked.variants, ", "),
      asked.usd);
}

}  // namespace evolve::cli
