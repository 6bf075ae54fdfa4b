#include "engine/cli/plan_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/app/machine.h"
#include "engine/campaign/generator/round_mutate.h"
#include "engine/cli/commands.h"
#include "engine/cli/common_options.h"
#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/report/output.h"
#include "engine/report/table.h"
#include "engine/world/console.h"
#include "engine/world/disk_files.h"
#include "engine/world/files.h"

namespace evolve::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct PlanCommand {
  std::vector<std::string> variants;
  std::string note;  // for a rejection: the reason
};

std::string state_words(const VariantPlan& plan) {
  return fmt::format("{}{}", plan_state_name(plan.state), plan.is_edited() ? ", edited" : "");
}

// Returns the beginning of a plan in one line, or the reason why there is no plan.
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

// Makes the same decision on each of the plans. If a plan cannot be found, makes no decision.
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
  std::vector<std::vector<std::string>> rows = {{"variant", "round", "model", "state", "plan"}};
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

// Lists all plans that were written, or shows the plan of the named variant.
Status run_plan_show(const CommonOptions& common, const PlanCommand& command) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  if (!command.variants.empty()) {
    TRY_ASSIGN(auto plan, find_plan(campaign, command.variants.front()));
    print_result(common, plan_report(plan), plan_text(plan));
    return {};
  }
  TRY_ASSIGN(auto plans, plans_of(campaign, 1, campaign.shape.rounds()));
  std::erase_if(plans, [](const VariantPlan& one) { return one.state == PlanState::unasked; });
  json report = json::array();
  for (const VariantPlan& one : plans) report.push_back(plan_report(one));
  print_result(common, report,
               plans.empty() ? "no plan has been written yet\n" : plan_table(plans));
  return {};
}

// Approves plans as they stand: as the model wrote them, or as a person edited them before.
Status run_plan_approve(const CommonOptions& common, const PlanCommand& command) {
  return decide_all(common, command, true);
}

// Rejects plans, so that no code is asked for.
Status run_plan_reject(const CommonOptions& common, const PlanCommand& command) {
  if (without_blanks(command.note).empty())
    return bad_input("plan reject: the reason is missing", "", "--note \"why\"");
  return decide_all(common, command, false);
}

// Opens an editor ($VISUAL, $EDITOR, or vi) on a plan, and approves the edited plan.
Status run_plan_edit(const CommonOptions& common, const PlanCommand& command) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto plan, find_plan(campaign, command.variants.front()));
  const std::string folder = fs::absolute(campaign.shape.files.proposals).string();
  const std::string path = fmt::format("{}/{}.plan.draft.md", folder, plan.id);
  world::DiskFiles files;
  // An editor that was killed may have left a draft behind, which is continued.
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
                    text.empty() ? "the plan is empty" : "the plan was not changed"),
        "",
        fmt::format("evolve plan approve {0}, or evolve plan reject {0} --note \"why\"", plan.id));
  }
  auto status = decide(common, campaign, plan, {true, command.note, text});
  return status ? files.remove(path) : status;
}

void add_plan(Commands& commands) {
  auto plan = commands.add(
      "plan",
      "review the plans that language models write before code: show, approve, reject, edit");
  plan.require_command();
  auto options = std::make_shared<PlanCommand>();
  auto show = plan.add_command("show", "list all plans with their states, or print one plan");
  show.add("variant", options->variants,
           "the plan's variant, for example v0007 (default: list all plans)")
      .names("variant")
      .zero_or_one();
  auto approve = plan.add_command("approve", "approve plans without changes");
  auto reject =
      plan.add_command("reject", "reject plans, so that models are not asked for their code");
  for (Parser command : {approve, reject})
    command.add("variant", options->variants, "the plans' variants, for example v0007 v0009")
        .names("variant")
        .required();
  auto edit = plan.add_command(
      "edit", "open a plan in an editor ($VISUAL, $EDITOR or vi), and approve the result");
  edit.add("variant", options->variants, "the plan's variant, for example v0007")
      .names("variant")
      .required()
      .values(1);
  for (Parser command : {approve, edit})
    command.add("--note", options->note, "a note for other people");
  reject.add("--note", options->note, "the reason; models read it, too").required();
  using RunPlan = Status (*)(const CommonOptions&, const PlanCommand&);
  const std::pair<Parser, RunPlan> actions[] = {{show, run_plan_show},
                                                {approve, run_plan_approve},
                                                {reject, run_plan_reject},
                                                {edit, run_plan_edit}};
  for (const auto& [command, run] : actions) {
    commands.add_common(command);
    commands.on(command, [options, run = run](const CommonOptions& common) {
      return run(common, *options);
    });
  }
}

}  // namespace evolve::cli
