#include "engine/replay/past.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "engine/app/campaign.h"

namespace evolve {

namespace {

Result<PastRound> load_record(cache::RoundTable& log, cache::RecordedRound stored) {
  PastRound out;
  out.stored = std::move(stored);
  std::vector<Record> rounds;
  for (auto next = std::optional(out.stored); next;) {
    auto record = decode_record(next->text);
    if (!record) return std::move(record).error().within(fmt::format("record {}", next->id));
    rounds.push_back(*std::move(record));
    out.chain.push_back(*next);
    if (next->before == 0) break;
    TRY_ASSIGN(auto before, log.find_record(next->before));
    if (!before || before->id >= next->id) {
      return external(fmt::format("record {}: the record of the previous round is gone", next->id));
    }
    next = std::move(before);
  }
  std::reverse(rounds.begin(), rounds.end());
  std::reverse(out.chain.begin(), out.chain.end());
  for (const Record& round : rounds) add_to(out.record, round);
  return out;
}

Result<PastRound> load_record(cache::RoundTable& log, int64_t id) {
  TRY_ASSIGN(auto stored, log.find_record(id));
  if (!stored) return bad_input(fmt::format("the ledger has no record {}", id), "", "evolve log");
  return load_record(log, *std::move(stored));
}

Result<PastRound> load_record(cache::RoundTable& log, const std::string& campaign,
                              const std::string& round) {
  std::vector<std::string> known;
  std::optional<cache::RecordedRound> last;
  for (int number = 1;; ++number) {
    TRY_ASSIGN(auto stored, log.last_record(campaign, number));
    if (!stored) break;
    known.push_back(fmt::format("round-{}", number));
    last = std::move(stored);
    if (known.back() == round) break;
  }
  if (!last) {
    return bad_input(fmt::format("no round of {} was recorded", campaign), "",
                     "evolve build round-1");
  }
  if (!round.empty() && known.back() != round) {
    return bad_input(
        fmt::format("'{}' was not recorded; the last recorded round is {}", round, known.back()),
        "", "evolve build " + round);
  }
  return load_record(log, *std::move(last));
}

}  // namespace

Result<PastRound> Past::load(const std::string& round, int64_t record) {
  return record > 0 ? load_record(state->ledger->rounds(), record)
                    : load_record(state->ledger->rounds(), campaign, round);
}

Result<Past> open_past(const CampaignFlags& common) {
  TRY_ASSIGN(auto place, find_campaign(common.campaign));
  std::error_code error;
  if (!std::filesystem::exists(place.state + "/ledger.db", error)) {
    return bad_input(fmt::format("{}: nothing has been built here", place.state), "",
                     "evolve build round-1");
  }
  std::string warning;
  TRY_ASSIGN(auto state, open_state(place.state, Sharing::names, warning));
  if (!warning.empty()) common.warn(warning);
  Past out{std::move(state), place.name};
  if (!out.campaign.empty()) return out;
  TRY_ASSIGN(auto campaigns, out.state->ledger->rounds().campaigns());
  if (campaigns.size() != 1) {
    return bad_input(campaigns.empty()
                         ? "no round has been recorded here"
                         : fmt::format("several campaigns: {}", fmt::join(campaigns, ", ")),
                     "", "name the campaign's pipeline with -p");
  }
  out.campaign = campaigns.front();
  return out;
}

}  // namespace evolve
