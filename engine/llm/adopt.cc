#include "engine/llm/adopt.h"

#include <fmt/format.h>

#include "engine/core/json_read.h"
#include "engine/llm/config.h"
#include "engine/llm/record.h"
#include "engine/llm/reply.h"
#include "engine/search/proposal/mutation.h"
#include "engine/search/selection/origin.h"

namespace evolve::llm {

namespace {

using nlohmann::json;

search::Point parameters_of(const std::string& kernel, const json& spec) {
  std::vector<std::string> names;
  for (const json& one : list_at(spec, "parameters")) names.push_back(text_at(one, "name"));
  auto point = search::read_parameters(kernel, names);
  return point ? *std::move(point) : search::Point{};
}

Status check_belongs(const AdoptRequest& request) {
  const std::string variant = text_at(request.prompt, "variant");
  if (variant != request.id.text())
    return bad_input(fmt::format("the prompt belongs to '{}', not to '{}'", variant, request.id));
  return check_answers(request.prompt, request.exchange);
}

// Returns the entry, the source that the model's code changes, and the other parents' sources.
Result<search::AdoptionContext> context_of(const AdoptRequest& request) {
  const std::string mode = text_at(request.prompt, "mode");
  search::AdoptionContext out;
  out.entry = text_at(request.spec, "entry");
  out.parent = request.parent;
  if (mode == "crossover") {
    if (request.second_parent.empty())
      return bad_input("crossover: the second parent's source is missing");
    out.others = {request.second_parent};
  } else if (mode == "repair" && texts_at(request.prompt, "parents").size() > 1) {
    if (request.rejected.empty())
      return bad_input("repair: the rejected variant's source is missing");
    out.parent = request.rejected;
    out.others = {request.parent};
  }
  return out;
}

// Returns the kernel that the exchange gave, or why it gave no kernel.
Result<Proposal> proposal_of(const AdoptRequest& request) {
  if (auto problem = rejection_of(request.prompt, request.exchange)) {
    Proposal out;
    out.problem = std::move(problem);
    return out;
  }
  TRY_ASSIGN(auto context, context_of(request));
  return read_proposal(text_at(request.exchange, "text"), finish_of(request.exchange), context);
}

// Summarizes the exchange for variant.json. Cost and tokens include those of the plan.
search::ExchangeSummary exchange_of(const AdoptRequest& request, const Proposal& proposal) {
  const Spent spent = spent_on(request.prompt, request.exchange);
  const json& of_plan = member(request.plan, "exchange");
  return {text_at(request.prompt, "model"), text_at(request.prompt, "mode"),
          spent.cost_usd + amount_at(of_plan, "cost_usd").value_or(0),
          spent.tokens + count_at(of_plan, "tokens"), proposal.learnings};
}

}  // namespace

Result<Adopted> adopt(const AdoptRequest& request) {
  TRY(check_belongs(request));
  TRY_ASSIGN(auto proposal, proposal_of(request));
  // Without a kernel, the parent's takes its place, because judging a known program is free.
  if (proposal.problem) proposal.kernel = request.parent;
  search::Origin origin;
  origin.id = request.id;
  origin.round = request.round;
  origin.mutator = "llm";
  for (const std::string& parent : texts_at(request.prompt, "parents")) {
    if (const auto id = VariantId::parse(parent)) origin.parents.push_back(*id);
  }
  origin.parameters = parameters_of(proposal.kernel, request.spec);
  origin.note =
      fmt::format("{} by {}: ", text_at(request.prompt, "mode"), text_at(request.prompt, "model"));
  origin.note += proposal.problem        ? proposal.problem->kind
                 : proposal.plan.empty() ? "no plan"
                                         : proposal.plan;
  Adopted out;
  origin.exchange = exchange_of(request, proposal);
  out.variant = search::variant_record(origin);
  if (proposal.problem) out.variant["problem"] = search::problem_record(*proposal.problem);
  out.kernel = std::move(proposal.kernel);
  return out;
}

}  // namespace evolve::llm
