// `evolve best`: writes the best variant's kernel to stdout or to a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/open_campaign.h"
#include "engine/app/results.h"
#include "engine/cli/commands.h"
#include "engine/core/crypto/sha256.h"
#include "engine/core/json_text.h"
#include "engine/core/text/units.h"
#include "engine/replay/delivery.h"
#include "engine/report/output.h"
#include "engine/search/selection/selection_record.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Returns the last round, up to `last`, that was built from the rounds before it as they are now.
// After an edit and a build of only some rounds, or after a build that did not end, the later
// rounds are still those of an earlier build.
Result<int> last_connected(const Campaign& campaign, cache::RoundTable& log, int last) {
  TRY_ASSIGN(auto rounds, log.selections(campaign.name));
  std::map<int, std::string> selections;
  for (const cache::RoundRecord& one : rounds) selections[one.number] = one.selection;
  int64_t before = 0;
  for (int round = 0; round <= last; ++round) {
    TRY_ASSIGN(auto record, log.last_record(campaign.name, round));
    if (!record) return last;  // no build of this round has ended
    if (record->before != before) return std::max(round - 1, 0);
    before = record->id;
    if (round == 0) continue;
    auto selection =
        world::read_file(fmt::format("{}/round-{}/selection.json", campaign.work, round));
    if (!selection) return std::move(selection).error();
    if (*selection != selections[round]) return round;
  }
  return last;
}

// Checks that a variant's files are the files that a round judged. Bad input: the files are from a
// build that did not end.
Status check_judged(const Campaign& campaign, VariantId variant, int round) {
  TRY_ASSIGN(auto history, history_of(campaign, round));
  TRY_ASSIGN(auto canonical,
             world::read_file(campaign.folder_of(variant.text()) + "/canonical.py"));
  for (const search::PastVariant& past : history) {
    if (past.id != variant || past.source.empty() || past.source == sha256(canonical)) continue;
    return bad_input(
        fmt::format("{}: its files have changed since round-{} judged them", variant, round), "",
        fmt::format("evolve build round-{}", round));
  }
  return {};
}

// Writes the best variant's kernel to `out`; empty: to stdout.
Status run_best(const CommonOptions& common, const std::string& out) {
  std::string out_path = out.empty() ? "" : fs::absolute(out).string();
  TRY_ASSIGN(auto opened, open_without_graph(common));
  const Campaign* campaign = &opened.campaign;
  const int last = last_round(*campaign);
  TRY_ASSIGN(auto connected, last_connected(*campaign, opened.state->ledger->rounds(), last));
  const int round = connected;
  if (round < last) {
    common.warn(
        fmt::format("rounds after round-{} are older than its last build and are left out; run "
                    "evolve build round-{} to bring them up to date",
                    round, last));
  }
  TRY_ASSIGN(auto selection, selection_of(*campaign, round));
  if (!selection || selection->survivors.empty())
    return bad_input("no round has been built yet", "", "evolve build round-1");
  const VariantId id = selection->survivors.front().variant.id;
  const std::string variant = id.text();
  TRY(check_judged(*campaign, id, round));
  TRY_ASSIGN(auto kernel, deliver(*campaign, variant));
  if (!out_path.empty()) {
    TRY(world::write_file_atomic(out_path, kernel));
  }
  if (common.json) {
    json best = search::best_record(*selection);
    best["kernel"] = kernel;
    best["round_built"] = round;
    print_out(json_block(best) + "\n");
  } else if (out_path.empty()) {
    print_file(kernel);
  }
  std::string line = fmt::format("evolve: best of {} rounds: {}", round, variant);
  for (const std::string& name : campaign->shape.bench_cases) {
    if (auto time = case_time(*campaign, variant, name)) {
      line += fmt::format(" · {} {} {}", name, duration(time->seconds), to_string(time->kind));
    }
  }
  print_err(line + "\n");
  return {};
}

}  // namespace

void add_best(Commands& commands) {
  auto command = commands.add("best", "write the best variant's kernel to stdout or a file");
  auto out = std::make_shared<std::string>();
  command.add("-o,--out", *out, "the file to write (default: stdout)");
  commands.add_common(command);
  commands.on(command, [out](const CommonOptions& common) { return run_best(common, *out); });
}

}  // namespace evolve::cli
