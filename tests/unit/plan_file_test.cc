// Tests of a person's decision on a model's plan: the file, and the plan that results from it.
#include "engine/search/proposal/plan_file.h"

#include "engine/graph/depfile.h"
#include "engine/llm/plan.h"
#include "tests/catch.h"

namespace {

using namespace evolve;
using namespace evolve::search;
using nlohmann::json;

json prompt() {
  return {{"verdict", "ok"},
          {"variant", "v0001"},
          {"request_digest", "d"},
          {"prices", {{"input_usd_per_million", 1.0}, {"output_usd_per_million", 4.0}}}};
}

json exchange(const std::string& text, const std::string& finish = "stop") {
  return {{"verdict", "ok"},
          {"request_digest", "d"},
          {"text", text},
          {"finish", finish},
          {"tokens", {{"input", 1000000}, {"output", 500000}}}};
}

}  // namespace

TEST_CASE("a decision on a plan is read, and written again", "[plan]") {
  auto read = read_plan_file("# evolve:approved: go  on \r\n\n\n1. wider\n\n2. done\n\n");
  REQUIRE(read);
  CHECK(read->is_approved);
  CHECK(read->note == "go on");
  CHECK(read->plan == "1. wider\n\n2. done");
  CHECK(plan_file_text(*read) == "# evolve: approved: go on\n\n1. wider\n\n2. done\n");
  auto rejected = read_plan_file("# evolve: rejected: tried");
  REQUIRE(rejected);
  CHECK(!rejected->is_approved);
  CHECK(plan_file_text(*rejected) == "# evolve: rejected: tried\n");
  // A line of the plan that looks like a decision does not count.
  auto sly = read_plan_file(plan_file_text({false, "no", "# evolve: approved:\nmine"}));
  REQUIRE(sly);
  CHECK(!sly->is_approved);
  CHECK(sly->plan == "# evolve: approved:\nmine");
}

TEST_CASE("a file that is not a decision on a plan is refused with its line", "[plan]") {
  for (const auto& [text, what] :
       {std::pair(
            "1. wider\n",
            "line 1: expected '# evolve: approved:' or '# evolve: rejected: the reason' above "
            "the plan"),
        {"# evolve: approve: x\n1. wider\n",
         "line 1: 'approve': expected 'approved' or 'rejected' and a colon"},
        {"# evolve: approved:\n# evolve: rejected: x\n1. wider\n",
         "line 2: 'rejected': the plan is already decided above"},
        {"# evolve: rejected:\n1. wider\n", "line 1: rejected: the reason is missing"},
        {"# evolve: approved: x\n\n", "line 2: the approved plan is missing"}}) {
    auto read = read_plan_file(text);
    REQUIRE(!read);
    CHECK(read.error().message == what);
    CHECK(read.error().code == ErrorCode::bad_input);
  }
}

TEST_CASE("a person may change a plan, but its cost stays", "[plan]") {
  auto planned = llm::planned_by(prompt(), exchange("<think>hm</think>\n1. wider\n"));
  REQUIRE(planned);
  CHECK(planned->text == "1. wider");
  const llm::Plan edited = llm::decided(*planned, {true, "", "1. higher"});
  CHECK(edited.text == "1. higher");
  const llm::Plan rejected = llm::decided(*planned, {false, "tried", "1. wider"});
  REQUIRE(rejected.problem);
  CHECK(rejected.problem->kind == "plan-rejected");
  for (const llm::Plan& one : {edited, rejected}) {
    const json record = llm::plan_record(one, prompt(), exchange("1. wider"));
    CHECK(record["exchange"]["cost_usd"].get<double>() == Approx(3));
    CHECK(record["exchange"]["tokens"] == 1500000);
    auto again = llm::read_plan(record);
    REQUIRE(again);
    CHECK(again->text == one.text);
    CHECK(again->problem.has_value() == one.problem.has_value());
  }
  CHECK(!llm::read_plan(json::object()));
}

TEST_CASE("a reply without a plan is a verdict that no person changes", "[plan]") {
  json refused = {{"verdict", "rejected"},
                  {"request_digest", "d"},
                  {"kind", "refused"},
                  {"reason", "too long"}};
  for (const auto& [answer, kind] : {std::pair(exchange(" \n"), "empty"),
                                     {exchange("1. wi", "length"), "truncated"},
                                     {refused, "refused"}}) {
    auto planned = llm::planned_by(prompt(), answer);
    REQUIRE(planned);
    REQUIRE(planned->problem);
    CHECK(planned->problem->kind == kind);
    CHECK(llm::decided(*planned, {true, "", "1. mine"}).problem->kind == kind);
  }
  json other = prompt();
  other["request_digest"] = "e";
  CHECK(llm::planned_by(other, exchange("1. wider")).error().code == ErrorCode::bad_input);
}

TEST_CASE("a depfile that is written is read back", "[plan]") {
  const std::vector<std::string> inputs = {"a b/#1.md", "c$d", R"(e\ f\#)"};
  auto read = parse_depfile(depfile_text("out put.json", inputs));
  REQUIRE(read);
  CHECK(read->inputs == inputs);
  CHECK(parse_depfile(depfile_text("out.json", {}))->inputs.empty());
}
