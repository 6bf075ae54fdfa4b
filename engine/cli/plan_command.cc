#include "engine/cli/plan_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/cli/machine.h"
#include "engine/cli/report.h"
#include "engine/cli/table.h"
#include "engine/core/lines.h"
#include "engine/core/plain_text.h"
#include "engine/core/round_mutate.h"
#include "engine/world/console.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string state_words(const VariantPlan& plan) {
  return fmt::format("{}{}", plan_state_name(plan.state), plan.is_edited() ? ", edited" : "");
}

// In a line: what it begins with, or why there is none.
std::string gist_of(const VariantPlan& plan) {
  constexpr size_t kMostBytes = 72;
  const auto& problem = plan.planned.problem;
  const std::string all =
      problem ? fmt::format("{}: {}", problem->kind, problem->reason) : plan.text();
  const std::string cut = one_line(all, kMostBytes);
  return cut.size() < one_line(all, kMostBytes + 1).size() ? cut + " …" : cut;
}

std::string plan_text(const VariantPlan& plan) {
  std::string out = fmt::format("{} · round {} · {} · {} by {}\n", plan.id, plan.round,
                                state_words(plan), plan.mode, plan.model);
  if (!plan.decision.note.empty()) out += plan.decision.note + "\n";
  out += fmt::format("\n{}\n", plan.text());
  if (plan.state == PlanState::open) {
    out += fmt::format(
        "\nevolve plan approve {0}, evolve plan edit {0}, or evolve plan reject {0} "
        "--note \"why\"\n",
        plan.id);
  }
  return out;
}

Result<std::vector<VariantPlan>> find_plans(const Campaign& campaign,
                                            const std::vector<std::string>& ids) {
  std::vector<VariantPlan> out;
  for (const std::string& id : ids) {
    TRY_ASSIGN(auto one, find_plan(campaign, id));
    out.push_back(std::move(one));
  }
  return out;
}

// The same word on each of the plans; on none of them where one cannot be found.
Status decide_all(const CommonOptions& common, const PlanCommand& command, bool is_approved) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto plans, find_plans(campaign, command.variants));
  for (const VariantPlan& one : plans) {
    auto status = decide(common, campaign, one, {is_approved, command.note, one.text()});
    if (!status) return status;
  }
  return {};
}

}  // namespace

json plan_report(const VariantPlan& plan) {
  json out = {{"variant", plan.id},
              {"round", plan.round},
              {"state", plan_state_name(plan.state)},
              {"file", plan.path}};
  if (!plan.model.empty()) out.update({{"model", plan.model}, {"mode", plan.mode}});
  if (!plan.text().empty()) out["plan"] = plan.text();
  if (plan.is_edited()) out["planned"] = plan.planned.text;
  if (!plan.decision.note.empty()) out["note"] = plan.decision.note;
  if (const auto& problem = plan.planned.problem)
    out.update({{"kind", problem->kind}, {"reason", problem->reason}});
  return out;
}

std::string plan_table(const std::vector<VariantPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {{"plan of", "round", "by", "it", "what"}};
  for (const VariantPlan& one : plans) {
    rows.push_back({one.id, std::to_string(one.round), one.model, state_words(one), gist_of(one)});
  }
  return table(rows, "  ");
}

Status decide(const CommonOptions& common, const Campaign& campaign, const VariantPlan& plan,
              const search::PlanFile& decision) {
  world::DiskFiles files;
  TRY(files.make_folders(fs::path(plan.path).parent_path().string()));
  TRY(files.write(plan.path, search::plan_file_text(decision)));
  TRY_ASSIGN(auto waiting, waiting_in(campaign, plan.round));
  VariantPlan after = plan;
  after.state = decision.is_approved ? PlanState::approved : PlanState::rejected;
  after.decision = decision;
  json report = plan_report(after);
  report["open"] = waiting;
  print_result(common, report,
               fmt::format("{}: {} in {}\n       {}\n", plan.id, state_words(after), plan.path,
                           next_step(plan.round, waiting)));
  return {};
}

Status run_plan_show(const CommonOptions& common, const PlanCommand& command) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  if (!command.variants.empty()) {
    TRY_ASSIGN(auto plan, find_plan(campaign, command.variants.front()));
    print_result(common, plan_report(plan), plan_text(plan));
    return {};
  }
  TRY_ASSIGN(auto plans, plans_of(campaign, 1, campaign.shape.rounds));
  std::erase_if(plans, [](const VariantPlan& one) { return one.state == PlanState::unasked; });
  json report = json::array();
  for (const VariantPlan& one : plans) report.push_back(plan_report(one));
  print_result(common, report, plans.empty() ? "no plan was written yet\n" : plan_table(plans));
  return {};
}

Status run_plan_approve(const CommonOptions& common, const PlanCommand& command) {
  return decide_all(common, command, true);
}

Status run_plan_reject(const CommonOptions& common, const PlanCommand& command) {
  if (without_blanks(command.note).empty())
    return bad_input("plan reject: the reason is missing", "", "--note \"why\"");
  return decide_all(common, command, false);
}

Status run_plan_edit(const CommonOptions& common, const PlanCommand& command) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto plan, find_plan(campaign, command.variants.front()));
  const std::string folder = fs::absolute(campaign.shape.proposals).string();
  const std::string path = fmt::format("{}/{}.plan.draft.md", folder, plan.id);
  world::DiskFiles files;
  // What an editor that was killed left behind is gone on with.
  if (!world::is_there(path)) {
    TRY(files.make_folders(folder));
    TRY(files.write(path, plan.text() + "\n"));
  }
  TRY(world::run_on_console(editor_line(path)));
  TRY_ASSIGN(auto edited, world::read_file(path));
  const std::string text(without_blanks(edited));
  if (text.empty() || text == plan.text()) {
    TRY(files.remove(path));
    return bad_input(
        fmt::format("{}: {}, so nothing is decided", plan.id,
                    text.empty() ? "no plan was left" : "nothing was changed"),
        "",
        fmt::format("evolve plan approve {0}, or evolve plan reject {0} --note \"why\"", plan.id));
  }
  auto status = decide(common, campaign, plan, {true, command.note, text});
  return status ? files.remove(path) : status;
}

}  // namespace evolve::cli
