// Step plan: the result of a model's plan for a variant. The result is the model's plan, the plan
// that a person approved, or the reason why there is no plan. The person's file is read, and named
// in the depfile, only if there is a plan to decide on.
#include "engine/llm/plan.h"

#include "engine/graph/depfile.h"
#include "engine/steps/step.h"

namespace {

using namespace evolve;

struct Arguments {
  std::string prompt, exchange, decision, depfile, out;
};

Result<search::PlanFile> read_decision(const std::string& path) {
  if (!world::is_there(path)) {
    return bad_input(fmt::format("{}: no decision on this plan yet", path), "",
                     "run evolve plan show, then evolve plan approve, edit or reject");
  }
  TRY_ASSIGN(auto text, world::read_file(path));
  auto decision = search::read_plan_file(text);
  if (!decision) return std::move(decision).error().within(path);
  return decision;
}

Status run(const Arguments& arguments) {
  TRY_ASSIGN(auto prompt, steps::read_json(arguments.prompt));
  TRY_ASSIGN(auto exchange, steps::read_json(arguments.exchange));
  auto plan = llm::planned_by(prompt, exchange);
  if (!plan) return std::move(plan).error();
  std::vector<std::string> read;
  if (!arguments.decision.empty() && !plan->problem) {
    TRY_ASSIGN(auto decision, read_decision(arguments.decision));
    plan = llm::decided(*std::move(plan), decision);
    read = {arguments.decision};
  }
  if (!arguments.depfile.empty()) {
    auto status = world::write_file_atomic(arguments.depfile, depfile_text(arguments.out, read));
    if (!status) return status;
  }
  return steps::write_json(arguments.out, llm::plan_record(*plan, prompt, exchange));
}

}  // namespace

int main(int argc, char** argv) {
  steps::CommandLine line("plan", "apply a person's decision to a model's plan");
  Arguments arguments;
  line.add("--prompt", arguments.prompt, "the plan's prompt.json").required();
  line.add("--exchange", arguments.exchange, "the plan's exchange.json").required();
  auto decision = line.add("--decision", arguments.decision,
                           "a person's decision; without a decision, the plan is used unchanged");
  line.add("--depfile", arguments.depfile, "whether the decision was read").needs(decision);
  line.add("--out", arguments.out, "plan.json").required();
  return steps::run_step(line, argc, argv, [&]() -> Status { return run(arguments); });
}
