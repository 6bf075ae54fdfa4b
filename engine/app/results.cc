#include "engine/app/results.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/core/outside_json.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/ir/facts_json.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/variant.h"
#include "engine/world/files.h"

namespace evolve {

nlohmann::json read_json(const std::string& path) {
  auto text = world::read_file(path);
  if (!text) return nullptr;
  return json_or_null(*text);
}

std::optional<CaseTime> case_time(const Campaign& campaign, const std::string& variant,
                                  const std::string& case_name) {
  nlohmann::json time =
      read_json(fmt::format("{}/{}/time.json", campaign.folder_of(variant), case_name));
  if (!time.is_object() || line_member(time, "verdict") != "ok" || !time.contains("seconds")) {
    return std::nullopt;
  }
  const auto kind = parse_time_kind(line_member(time, "kind"));
  if (!kind) return std::nullopt;
  CaseTime out{*kind, time["seconds"].get<double>(), std::nullopt};
  if (time.contains("cheaper_seconds")) out.cheaper = time["cheaper_seconds"].get<double>();
  return out;
}

std::optional<ir::Facts> case_facts(const Campaign& campaign, const std::string& variant,
                                    const std::string& case_name) {
  auto facts = ir::facts_from_json(
      read_json(fmt::format("{}/{}/facts.json", campaign.folder_of(variant), case_name)));
  return facts ? std::optional(*std::move(facts)) : std::nullopt;
}

Result<std::optional<search::Selection>> selection_of(const Campaign& campaign, int round) {
  const std::string path = fmt::format("{}/round-{}/selection.json", campaign.work, round);
  const nlohmann::json record = read_json(path);
  if (!record.is_object()) return std::optional<search::Selection>();
  auto selection = search::read_selection(record);
  if (!selection) return std::move(selection).error().within(path);
  return std::optional(*std::move(selection));
}

Result<search::History> history_of(const Campaign& campaign, int round) {
  const std::string path = fmt::format("{}/round-{}/history.jsonl", campaign.work, round);
  TRY_ASSIGN(auto text, world::read_file(path));
  auto history = search::read_history(text);
  if (!history) return std::move(history).error().within(path);
  return history;
}

Result<std::string> built_folder(const Campaign& campaign, const std::string& variant) {
  std::string folder = campaign.folder_of(variant);
  if (folder.empty()) {
    std::vector<std::string> known = {"xla"};
    for (int number = 0; number <= campaign.shape.rounds() * campaign.shape.variants(); ++number) {
      known.push_back(VariantId(number).text());
    }
    auto near = nearest(variant, known);
    return bad_input(
        fmt::format("unknown variant '{}'{}", variant,
                    near ? fmt::format(", did you mean '{}'?", *near)
                         : fmt::format(": the variants are v0000 to {}", known.back())));
  }
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return bad_input(fmt::format("variant '{}' has not been built yet", variant), "",
                     fmt::format("evolve build {}", variant == "xla" ? "round-0" : variant));
  }
  return folder;
}

int last_round(const Campaign& campaign) {
  int round = campaign.shape.rounds();
  std::error_code error;
  while (round > 0 && !std::filesystem::exists(
                          fmt::format("{}/round-{}/selection.json", campaign.work, round), error)) {
    --round;
  }
  return round;
}

}  // namespace evolve
