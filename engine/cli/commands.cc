#include "engine/cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "engine/cli/delivery.h"
#include "engine/cli/progress.h"
#include "engine/cli/report.h"
#include "engine/cli/session.h"
#include "engine/core/sha256.h"
#include "engine/llm/record.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string headed(const std::string& head, const std::string& text) {
  return fmt::format("--- {}\n{}{}", head, text, text.ends_with('\n') ? "" : "\n");
}

// What came back, and what it cost by its prompt's prices.
std::string reply_text(const json& prompt, const json& exchange) {
  if (exchange.value("verdict", "") == "rejected")
    return headed(exchange.value("kind", ""), exchange.value("reason", ""));
  return headed(fmt::format("reply: {} tokens, {:.4f} usd, {}",
                            exchange.value("/tokens/output"_json_pointer, int64_t{0}),
                            llm::spent_on(prompt, exchange).cost_usd, exchange.value("finish", "")),
                exchange.value("text", ""));
}

// What a model was asked in one go: the records of a folder; null where there are none.
json asked_in(const std::string& folder, bool has_reply) {
  json out = {{"prompt", read_json(folder + "/prompt.json")}};
  if (!out["prompt"].is_object()) return {};
  out["request"] = read_json(folder + "/request.json");
  const json exchange = has_reply ? read_json(folder + "/exchange.json") : json();
  if (exchange.is_object()) out["exchange"] = exchange;
  return out;
}

std::string asked_text(const json& asked, const std::string& variant) {
  const json& prompt = asked["prompt"];
  if (!asked["request"].contains("request")) {
    return fmt::format("nothing was sent: {}: {}\n", prompt.value("kind", ""),
                       prompt.value("reason", ""));
  }
  const json& request = asked["request"]["request"];
  std::string out =
      fmt::format("--- {}{} of {} by {}, at most {} tokens\n",
                  prompt.contains("stage") ? "plan, " : "", prompt.value("mode", ""), variant,
                  request.value("model", ""), request.value("max_tokens", int64_t{0}));
  out += headed("system", request.value("system", ""));
  for (const json& message : request.value("messages", json::array()))
    out += headed(message.value("role", ""), message.value("content", ""));
  if (asked.contains("exchange")) out += reply_text(prompt, asked["exchange"]);
  return out;
}

// The last round up to `last` that follows from the rounds before it as they are: after an edit and
// a build of some rounds, or one that did not end, later ones lie there as they were before.
Result<int> last_connected(const Campaign& campaign, cache::SqliteLedger& ledger, int last) {
  TRY_ASSIGN(auto rounds, ledger.rounds(campaign.name));
  std::map<int, std::string> selections;
  for (const cache::RoundRecord& one : rounds) selections[one.number] = one.selection;
  int64_t before = 0;
  for (int round = 0; round <= last; ++round) {
    TRY_ASSIGN(auto record, ledger.last_record(campaign.name, round));
    if (!record) return last;  // no build of it has ended
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

// Bad input: a variant's files are not those that a round judged, but of a build that did not end.
Status check_judged(const Campaign& campaign, const std::string& variant, int round) {
  TRY_ASSIGN(auto history, history_of(campaign, round));
  TRY_ASSIGN(auto canonical, world::read_file(campaign.folder_of(variant) + "/canonical.py"));
  for (const search::PastVariant& past : history) {
    if (past.id != variant || past.source.empty() || past.source == sha256(canonical)) continue;
    return bad_input(
        fmt::format("{}: its files are not those that round-{} judged", variant, round), "",
        fmt::format("evolve build round-{}", round));
  }
  return {};
}

}  // namespace

Status run_show(const CommonOptions& common, const std::string& variant) {
  TRY_ASSIGN(auto session, open_session(common));
  const Campaign& campaign = session.campaign;
  TRY(built_folder(campaign, variant));
  TRY_ASSIGN(auto report, variant_report(campaign, variant, *session.state->ledger));
  print_out(common.json ? report.dump(2) + "\n" : variant_text(report));
  return {};
}

Status run_prompt_show(const CommonOptions& common, const std::string& variant, bool has_reply) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto folder, built_folder(campaign, variant));
  const json plan = asked_in(folder + "/plan", has_reply);
  json code = asked_in(folder, has_reply);
  if (plan.is_null() && code.is_null()) {
    return bad_input(fmt::format("no model was asked for '{}'", variant), "",
                     fmt::format("evolve show {}", variant));
  }
  if (common.json) {
    if (!plan.is_null()) code["plan"] = plan;
    print_out(code.dump(2) + "\n");
    return {};
  }
  for (const json* asked : {&plan, &std::as_const(code)}) {
    if (!asked->is_null()) print_out(asked_text(*asked, variant));
  }
  return {};
}

Status run_best(const CommonOptions& common, const std::string& out) {
  std::string out_path = out.empty() ? "" : fs::absolute(out).string();
  TRY_ASSIGN(auto session, open_without_graph(common));
  const Campaign* campaign = &session.campaign;
  const int last = last_round(*campaign);
  TRY_ASSIGN(auto connected, last_connected(*campaign, *session.state->ledger, last));
  const int round = connected;
  if (round < last) {
    print_warning(fmt::format("rounds after round-{} are older than its last build and are left "
                              "out: evolve build round-{} says whether it "
                              "still holds",
                              round, last),
                  common.color);
  }
  json selection = selection_of(*campaign, round);
  if (!selection.is_object() || !selection.contains("best") || !selection["best"].is_object()) {
    return bad_input("no round was built yet", "", "evolve build round-1");
  }
  json best = selection["best"];
  std::string variant = best.value("variant", "");
  TRY(check_judged(*campaign, variant, round));
  TRY_ASSIGN(auto kernel, deliver(*campaign, variant));
  if (!out_path.empty()) {
    TRY(world::write_file_atomic(out_path, kernel));
  }
  if (common.json) {
    best["kernel"] = kernel;
    best["round_built"] = round;
    print_out(best.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  } else if (out_path.empty()) {
    print_file(kernel);
  }
  std::string line = fmt::format("evolve: best of {} rounds: {}", round, variant);
  for (const std::string& name : campaign->shape.bench_cases) {
    if (auto time = case_time(*campaign, variant, name)) {
      line += fmt::format(" · {} {} {}", name, duration(time->seconds), time->kind);
    }
  }
  print_err(line + "\n");
  return {};
}

Status run_log(const CommonOptions& common, int round) {
  TRY_ASSIGN(auto session, open_session(common));
  TRY_ASSIGN(auto rounds, rounds_report(session.campaign.name, *session.state->ledger));
  const json& report = rounds;
  if (round == 0) {
    print_out(common.json      ? report.dump(2) + "\n"
              : report.empty() ? "no round was built yet\n"
                               : rounds_text(report));
    return {};
  }
  for (const json& one : report) {
    if (one["round"].get<int>() != round) continue;
    if (one.contains("problem") && !common.json) {
      return external(fmt::format("round {}: {}", round, one["problem"].get<std::string>()));
    }
    print_out(common.json ? one.dump(2) + "\n"
                          : round_text(one["selection"], one.value("imported", false)));
    return {};
  }
  return bad_input(fmt::format("round {} is not in the ledger", round), "",
                   fmt::format("evolve build round-{}", round));
}

Status run_clean(const CommonOptions& common, bool all, bool dry_run) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  std::vector<std::string> paths = {campaign.work};
  if (all) {
    for (const char* name : {"memo.db", "memo.db-wal", "memo.db-shm", "blobs"}) {
      paths.push_back(campaign.state + "/" + name);
    }
  }
  json removed = json::array();
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (!dry_run) fs::remove_all(path, error);
    if (error) return world::system_error("remove", path, error.value());
    removed.push_back(path);
  }
  if (common.json) {
    print_out(json{{"removed", removed}, {"dry_run", dry_run}}.dump(2) + "\n");
    return {};
  }
  for (const json& path : removed) {
    print_out(
        fmt::format("{} {}\n", dry_run ? "would remove" : "removed", path.get<std::string>()));
  }
  if (removed.empty()) print_out("nothing to clean\n");
  return {};
}

}  // namespace evolve::cli
