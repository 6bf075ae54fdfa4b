// `evolve prompt`: prints what language models were asked, and their replies.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/app/campaign.h"
#include "engine/app/results.h"
#include "engine/cli/commands.h"
#include "engine/core/json_text.h"
#include "engine/llm/record.h"
#include "engine/report/output.h"

namespace evolve::cli {

namespace {

using nlohmann::json;

std::string headed(const std::string& head, const std::string& text) {
  return fmt::format("--- {}\n{}{}", head, text, text.ends_with('\n') ? "" : "\n");
}

// Returns a model's reply, and its cost by the prompt's prices.
std::string reply_text(const json& prompt, const json& exchange) {
  if (exchange.value("verdict", "") == "rejected")
    return headed(exchange.value("kind", ""), exchange.value("reason", ""));
  return headed(fmt::format("reply: {} tokens, {:.4f} usd, {}",
                            exchange.value("/tokens/output"_json_pointer, int64_t{0}),
                            llm::spent_on(prompt, exchange).cost_usd, exchange.value("finish", "")),
                exchange.value("text", ""));
}

// Returns the records of one request to a model, from its folder; null: the folder has no records.
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

// Prints the requests to a model for a variant, word for word. If a model wrote a plan, the request
// for the plan comes first. `has_reply`: also the replies.
Status run_prompt_show(const CommonOptions& common, const std::string& variant, bool has_reply) {
  TRY_ASSIGN(auto campaign, open_campaign(common.campaign));
  TRY_ASSIGN(auto folder, built_folder(campaign, variant));
  const json plan = asked_in(folder + "/plan", has_reply);
  json code = asked_in(folder, has_reply);
  if (plan.is_null() && code.is_null()) {
    return bad_input(fmt::format("no model was asked to write '{}'", variant), "",
                     fmt::format("evolve show {} shows where the variant comes from", variant));
  }
  if (common.json) {
    if (!plan.is_null()) code["plan"] = plan;
    print_out(json_block(code) + "\n");
    return {};
  }
  for (const json* asked : {&plan, &std::as_const(code)}) {
    if (!asked->is_null()) print_out(asked_text(*asked, variant));
  }
  return {};
}

}  // namespace

void add_prompt(Commands& commands) {
  auto prompt = commands.add("prompt", "print what language models were asked: show");
  prompt.require_command();
  auto show =
      prompt.add_command("show", "print the prompt that asked for a variant, exactly as sent");
  auto variant = std::make_shared<std::string>();
  auto has_reply = std::make_shared<bool>(false);
  show.add("variant", *variant, "the variant, for example v0007").names("variant").required();
  show.add("--reply", *has_reply, "also print the model's reply");
  commands.add_common(show);
  commands.on(show, [variant, has_reply](const CommonOptions& common) {
    return run_prompt_show(common, *variant, *has_reply);
  });
}

}  // namespace evolve::cli
