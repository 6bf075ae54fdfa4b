#include <cmath>

#include "engine/search/selection/evaluated_record.h"
#include "engine/search/selection/selection.h"
#include "engine/search/selection/selection_record.h"
#include "tests/catch.h"

using namespace evolve::search;
using evolve::TimeKind;
using evolve::VariantId;
using nlohmann::json;

namespace {

using Ids = std::vector<VariantId>;

// Returns a variant with a time for each of the cases "a" and "b".
Evaluated timed(VariantId id, double a, double b, TimeKind kind = TimeKind::modelled) {
  Evaluated variant;
  variant.id = id;
  variant.round = id == "v0000" ? 0 : 1;
  variant.parameters = {{"P", id.number()}};
  variant.time_kind = kind;
  variant.seconds = {{"a", a}, {"b", b}};
  return variant;
}

Evaluated rejected(VariantId id) {
  Evaluated variant = timed(id, 1, 1);
  variant.seconds.clear();
  variant.time_kind.reset();
  variant.rejection = {"compile", "a", "out-of-memory", "68 MiB of 64"};
  return variant;
}

SelectionRequest request_of(std::vector<Evaluated> variants, int top_k = 2) {
  SelectionRequest request;
  request.cases = {{"a", 1}, {"b", 1}};
  request.rule.top_k = top_k;
  request.seed = timed("v0000", 1, 1);
  request.variants = std::move(variants);
  return request;
}

Selection selected(const SelectionRequest& request) {
  auto result = select(request);
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

Ids survivors(const Selection& selection) {
  Ids out;
  for (const Survivor& survivor : selection.survivors) out.push_back(survivor.variant.id);
  return out;
}

Ids ranking(const Selection& selection) {
  Ids out;
  for (const Ranked& ranked : selection.ranking) out.push_back(ranked.variant.id);
  return out;
}

}  // namespace

TEST_CASE("the fastest variants survive") {
  Selection selection = selected(
      request_of({timed("v0001", 0.9, 0.9), timed("v0002", 0.5, 0.5), timed("v0003", 0.7, 0.7)}));
  CHECK(survivors(selection) == Ids{"v0002", "v0003"});
  CHECK(ranking(selection) == Ids{"v0002", "v0003", "v0001", "v0000"});
  CHECK(selection.survivors[0].score == 2);
  CHECK(selection.survivors[0].reason == "2x the seed's speed, the best of 4 in contention");
  CHECK(selection.survivors[1].reason ==
        "1.429x the seed's speed, the best left of 4 in contention");
  CHECK(selection.time_kind == TimeKind::modelled);
}

TEST_CASE("the score is the weighted geometric mean of the speedups") {
  SelectionRequest request = request_of({timed("v0001", 0.5, 2)});
  CHECK(selected(request).ranking[0].score == 1);
  request.cases[0].weight = 3;
  CHECK(selected(request).ranking[0].score == 1.41421);
  request.seed.seconds = {{"a", 100}, {"b", 0.001}};
  request.variants[0].seconds = {{"a", 50}, {"b", 0.002}};
  CHECK(selected(request).ranking[0].score == 1.41421);
}

TEST_CASE("a long case does not outvote a short one") {
  SelectionRequest request = request_of({timed("v0001", 90, 0.01), timed("v0002", 100, 0.005)}, 1);
  request.seed = timed("v0000", 100, 0.01);
  CHECK(survivors(selected(request)) == Ids{"v0002"});
}

TEST_CASE("what was measured beside the seed counts by that ratio") {
  Evaluated seed = timed("v0000", 1, 1, TimeKind::measured);
  seed.ratios = {{"a", {1.02, 1, 1.04}}, {"b", {0.97, 0.96, 0.98}}};
  // By its times, which are from different runs, v0001 would be faster.
  Evaluated lucky = timed("v0001", 0.7, 0.7, TimeKind::measured);
  lucky.ratios = {{"a", {0.9, 0.89, 0.91}}, {"b", {0.9, 0.89, 0.91}}};
  Evaluated better = timed("v0002", 0.8, 0.8, TimeKind::measured);
  better.ratios = {{"a", {0.8, 0.79, 0.81}}, {"b", {0.8, 0.79, 0.81}}};
  SelectionRequest request = request_of({lucky, better});
  request.seed = seed;
  const Selection selection = selected(request);
  CHECK(ranking(selection) == Ids{"v0002", "v0001", "v0000"});
  CHECK(selection.ranking[0].score == 1.25);
  CHECK(selection.ranking[2].score == 1);
  // The same ratio counts in the next round.
  auto next = read_selection(selection_record(selection));
  REQUIRE(next);
  CHECK(next->survivors[0].variant.ratios.at("a").value == 0.8);
  CHECK(next->survivors[0].variant.ratios.at("b").high == 0.81);
}

TEST_CASE("measured scores whose intervals leave it open are ties") {
  auto measured = [](VariantId id, double ratio, double half) {
    Evaluated out = timed(id, ratio, ratio, TimeKind::measured);
    const Ratio one = {ratio, ratio / (1 + half), ratio * (1 + half)};
    out.ratios = {{"a", one}, {"b", one}};
    return out;
  };
  SelectionRequest request =
      request_of({measured("v0001", 0.5, 0.05), measured("v0002", 0.48, 0.05)}, 1);
  request.seed = timed("v0000", 1, 1, TimeKind::measured);
  CHECK(survivors(selected(request)) == Ids{"v0001"});
  request.variants = {measured("v0001", 0.5, 0.01), measured("v0002", 0.48, 0.01)};
  CHECK(survivors(selected(request)) == Ids{"v0002"});
}

TEST_CASE("no variant survives on the samples of a race alone") {
  Evaluated lucky = timed("v0001", 0.5, 0.5, TimeKind::measured);
  lucky.is_confirmed = false;
  SelectionRequest request = request_of({lucky, timed("v0002", 0.6, 0.6, TimeKind::measured)}, 2);
  request.seed = timed("v0000", 1, 1, TimeKind::measured);
  const Selection selection = selected(request);
  CHECK(ranking(selection) == Ids{"v0001", "v0002", "v0000"});
  CHECK(survivors(selection) == Ids{"v0002", "v0000"});
  CHECK(selection_record(selection)["ranking"][0]["confirmed"] == false);
}

TEST_CASE("within the model's resolution the earlier variant goes first and the reason says so") {
  Selection selection =
      selected(request_of({timed("v0001", 0.5, 0.5), timed("v0002", 0.49, 0.49)}));
  CHECK(ranking(selection) == Ids{"v0002", "v0001", "v0000"});
  CHECK(survivors(selection) == Ids{"v0001", "v0002"});
  CHECK(selection.survivors[0].reason ==
        "2x the seed's speed, a tie with 'v0002' (2.041, within 3 %) that came later");
  selection = selected(request_of({timed("v0001", 0.5, 0.5), timed("v0002", 0.5, 0.5)}));
  CHECK(selection.survivors[0].reason ==
        "2x the seed's speed, a tie with 'v0002' (2, within 3 %) that came later");
  CHECK(selection.survivors[1].reason == "2x the seed's speed, the best left of 3 in contention");
  CHECK(survivors(selected(request_of({timed("v0001", 0.5, 0.5), timed("v0002", 0.48, 0.48)}))) ==
        Ids{"v0002", "v0001"});
  CHECK(survivors(selected(request_of({timed("v0001", 0.99, 0.99)}, 1))) == Ids{"v0000"});
}

TEST_CASE("the order in which variants are given does not matter") {
  auto a = timed("v0001", 0.5, 0.5), b = timed("v0002", 0.49, 0.49),
       c = timed("v0003", 0.505, 0.505);
  CHECK(survivors(selected(request_of({a, b, c}))) == survivors(selected(request_of({c, b, a}))));
  CHECK(ranking(selected(request_of({a, b, c}))) == ranking(selected(request_of({b, c, a}))));
}

TEST_CASE("v10000 comes after v9999") {
  CHECK(survivors(selected(request_of({timed("v10000", 0.5, 0.5), timed("v9999", 0.5, 0.5)}))) ==
        Ids{"v9999", "v10000"});
}

TEST_CASE("rejected variants are recorded, not ranked") {
  Selection selection = selected(request_of({rejected("v0001"), timed("v0002", 0.5, 0.5)}));
  CHECK(ranking(selection) == Ids{"v0002", "v0000"});
  REQUIRE(selection.rejected.size() == 1);
  CHECK(selection.rejected[0].rejection->kind == "out-of-memory");
}

TEST_CASE("survivors of the round before stay in contention, the seed only in the first round") {
  SelectionRequest request = request_of({timed("v0009", 0.6, 0.6)});
  request.round = 2;
  request.before = {{timed("v0001", 0.5, 0.5)}, {timed("v0002", 0.8, 0.8)}};
  CHECK(ranking(selected(request)) == Ids{"v0001", "v0009", "v0002"});
  CHECK(survivors(selected(request)) == Ids{"v0001", "v0009"});
}

TEST_CASE("a variant with a survivor's program or parameters is not a second lineage") {
  auto a = timed("v0001", 0.5, 0.5), b = timed("v0002", 0.5, 0.5), c = timed("v0003", 0.6, 0.6);
  a.programs = b.programs = {{"a", "d1"}, {"b", "d2"}};
  c.programs = {{"a", "d1"}, {"b", "d3"}};
  Selection selection = selected(request_of({a, b, c}));
  CHECK(survivors(selection) == Ids{"v0001", "v0003"});
  CHECK(selection.ranking[1].same_as == VariantId("v0001"));
  b.programs.clear();
  b.parameters = a.parameters;
  CHECK(survivors(selected(request_of({a, b, c}))) == Ids{"v0001", "v0003"});
}

TEST_CASE("modelled and measured times are never ranked together") {
  auto result = select(request_of({timed("v0001", 0.5, 0.5, TimeKind::measured)}));
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "modelled and measured times are never ranked together: 'v0000' and 'v0001'");
  SelectionRequest request = request_of({timed("v0002", 0.5, 0.5)});
  request.before = {{timed("v0001", 0.5, 0.5, TimeKind::measured)}};
  CHECK_FALSE(select(request));
}

TEST_CASE("a rejected seed is neither a base nor a survivor") {
  SelectionRequest request = request_of({timed("v0001", 0.5, 0.5), timed("v0002", 0.25, 0.25)});
  request.seed = rejected("v0000");
  Selection selection = selected(request);
  CHECK_FALSE(selection.is_relative);
  CHECK(survivors(selection) == Ids{"v0002", "v0001"});
  CHECK(selection.survivors[0].score == 4);
  CHECK(selection.survivors[0].reason == "score 4, the best of 2 in contention");
  CHECK(selection_record(selection)["seed"]["verdict"] == "rejected");
}

TEST_CASE("where nothing survives there is no best") {
  SelectionRequest request = request_of({rejected("v0001")});
  request.seed = rejected("v0000");
  json record = selection_record(selected(request));
  CHECK(record["best"].is_null());
  CHECK(record["survivors"].empty());
  CHECK(record["time_kind"] == "none");
}

TEST_CASE("what the model rules out is recorded, and not ranked") {
  Evaluated slow = timed("v0002", 1, 1);
  slow.seconds.clear();
  slow.time_kind.reset();
  slow.ruled_out = "modelled 1.400 of the seed's time";
  SelectionRequest request = request_of({timed("v0001", 0.5, 0.5, TimeKind::measured), slow});
  request.seed = timed("v0000", 1, 1, TimeKind::measured);
  const Selection selection = selected(request);
  CHECK(ranking(selection) == Ids{"v0001", "v0000"});
  CHECK(selection.rejected.empty());
  CHECK(selection_record(selection)["ruled_out"] ==
        json::parse(R"([{"variant": "v0002", "reason": "modelled 1.400 of the seed's time"}])"));
  CHECK(selection.model.ruled_out == 1);
}

TEST_CASE("the model's error is that of ratios by the seed's, over all rounds") {
  auto measured = [](VariantId id, double ratio, double modelled) {
    Evaluated out = timed(id, ratio, ratio, TimeKind::measured);
    out.ratios = {{"a", {ratio, ratio, ratio}}, {"b", {ratio, ratio, ratio}}};
    // All modelled times are half of the device's times. The cut ignores such a common factor.
    out.modelled = {{"a", modelled / 2}, {"b", modelled / 2}};
    return out;
  };
  SelectionRequest request =
      request_of({measured("v0001", 0.5, 0.5), measured("v0002", 0.6, 0.6 * std::exp(0.3)),
                  timed("v0003", 0.7, 0.7, TimeKind::measured), rejected("v0004")});
  request.seed = timed("v0000", 1, 1, TimeKind::measured);
  request.seed.modelled = {{"a", 0.5}, {"b", 0.5}};
  request.variants[1].is_spot_check = true;
  Selection selection = selected(request);
  CHECK(selection.model.compared == 2);
  CHECK(selection.model.offset == Approx(-0.15).epsilon(1e-5));
  CHECK(selection.model.error == Approx(0.15).epsilon(1e-5));
  CHECK(selection.model.spot_checks == 1);
  CHECK(selection.model.wrong == 1);
  CHECK(*selection.ranking[0].modelled == 0.5);
  CHECK_FALSE(selection.ranking[2].modelled);
  // The next round gets the model's error and the survivors' modelled times.
  const json record = selection_record(selection);
  auto previous = read_selection(record);
  REQUIRE(previous);
  CHECK(previous->survivors[0].variant.modelled == request.variants[0].modelled);
  CHECK(record["ranking"][1]["spot_check"] == true);
  SelectionRequest next = request_of({measured("v0005", 0.4, 0.4), measured("v0006", 0.4, 0.4)}, 1);
  next.round = 2;
  next.seed = request.seed;
  next.before = previous->survivors;
  next.model = previous->model;
  selection = selected(next);
  CHECK(selection.model.compared == 4);
  CHECK(selection.model.offset == Approx(-0.3 / 4).epsilon(1e-4));
  CHECK(selection.model.error == Approx(std::sqrt(0.09 / 4 - 0.09 / 16)).epsilon(1e-4));
  CHECK(selection.model.wrong == 1);
}

TEST_CASE("a selection's record is pinned, and is what the next round reads") {
  auto best = timed("v0001", 0.5, 0.5);
  best.parents = {"v0000"};
  best.note = "P 0 -> 1";
  best.programs = {{"a", "d1"}, {"b", "d2"}};
  json record = selection_record(selected(request_of({best, rejected("v0002")}, 1)));
  CHECK(record == json::parse(R"({
    "best": {"lineage": 1, "note": "P 0 -> 1", "parameters": {"P": 1}, "parents": ["v0000"],
             "per_case": {"a": 0.5, "b": 0.5}, "programs": {"a": "d1", "b": "d2"},
             "reason": "2x the seed's speed, the best of 2 in contention", "round": 1, "score": 2.0,
             "variant": "v0001"},
    "ranking": [{"per_case": {"a": 0.5, "b": 0.5}, "round": 1, "score": 2.0, "variant": "v0001"},
                {"per_case": {"a": 1.0, "b": 1.0}, "round": 0, "score": 1.0, "variant": "v0000"}],
    "rejected": [{"case": "a", "kind": "out-of-memory", "reason": "68 MiB of 64", "step": "compile", "variant": "v0002"}],
    "places": [1, 1],
    "resolution": 0.03,
    "round": 1,
    "score_is": "speedup over the seed: weighted geometric mean over the bench cases",
    "seed": {"per_case": {"a": 1.0, "b": 1.0}, "score": 1.0, "variant": "v0000", "verdict": "ok"},
    "survivors": [{"lineage": 1, "note": "P 0 -> 1", "parameters": {"P": 1}, "parents": ["v0000"],
             "per_case": {"a": 0.5, "b": 0.5}, "programs": {"a": "d1", "b": "d2"},
             "reason": "2x the seed's speed, the best of 2 in contention", "round": 1, "score": 2.0,
             "variant": "v0001"}],
    "time_kind": "modelled"
  })"));
  auto read = read_selection(record);
  REQUIRE(read);
  REQUIRE(read->survivors.size() == 1);
  CHECK(read->survivors[0].variant.id == VariantId("v0001"));
  CHECK(read->survivors[0].variant.seconds == best.seconds);
  CHECK(read->survivors[0].variant.programs == best.programs);
  CHECK(read->survivors[0].variant.parameters == best.parameters);
  CHECK(read->survivors[0].variant.time_kind == TimeKind::modelled);
}

TEST_CASE("a broken record is an external error") {
  for (const char* text :
       {"null", "[]", "{}", R"({"round": 1, "survivors": [1]})", R"({"survivors": []})",
        R"({"round": 1, "survivors": [], "places": [1]})",
        R"({"round": 1, "survivors": [], "model": {"compared": -1}})",
        R"({"round": 1, "survivors": [{"variant": "v1", "round": 1, "parameters": {"P": "x"}}]})",
        R"({"round": 1, "survivors": [{"variant": "v1", "round": 1, "parameters": {}}]})"}) {
    CHECK(read_selection(json::parse(text)).error().code == evolve::ErrorCode::external);
  }
}

namespace {

using Ids = std::vector<VariantId>;

const std::vector<CaseRecord> judged_cases = {{{"a", true, false}, 1}, {{"c", false, true}, 1}};
const json variant_record_of_v0001 = {
    {"id", "v0001"}, {"round", 1}, {"parents", {"v0000"}}, {"parameters", {{"P", 1}}}};

// Returns the records of a valid variant, by "case/file".
std::map<std::string, json> ok_records() {
  return {{"a/lower.json", {{"verdict", "ok"}, {"programs", {{"device", {{"digest", "d1"}}}}}}},
          {"a/contract.json", {{"verdict", "ok"}}},
          {"c/contract.json", {{"verdict", "ok"}}},
          {"a/compile.json", {{"verdict", "ok"}}},
          {"a/facts.json", {{"verdict", "ok"}}},
          {"a/time.json", {{"verdict", "ok"}, {"kind", "modelled"}, {"seconds", 0.5}}},
          {"a/values.json", {{"verdict", "ok"}}},
          {"c/lower.json", {{"verdict", "ok"}, {"programs", {{"device", {{"digest", "d2"}}}}}}},
          {"c/check.json", {{"verdict", "ok"}}},
          {"c/interpret.json", {{"verdict", "ok"}}}};
}

evolve::Result<Evaluated> evaluated(const std::map<std::string, json>& records,
                                    std::vector<std::string>* asked = nullptr) {
  return read_evaluated(
      variant_record_of_v0001, judged_cases,
      [&](const std::string& one, const std::string& file) -> evolve::Result<json> {
        std::string name = one + "/" + file;
        if (asked != nullptr) asked->push_back(name);
        auto it = records.find(name);
        if (it == records.end())
          return evolve::external("open '" + name + "': No such file or directory");
        return it->second;
      });
}

}  // namespace

TEST_CASE(
    "a step that could not be done is not a rejection, and is named unless the spec excuses it") {
  auto records = ok_records();
  CHECK(evaluated(records)->not_done.empty());
  records["c/interpret.json"] = {{"verdict", "not_done"}, {"reason", "no rule for 'sin'"}};
  const auto variant = evaluated(records);
  REQUIRE(variant);
  CHECK_FALSE(variant->rejection);
  CHECK(variant->not_done == std::vector<std::string>{"interpret c: no rule for 'sin'"});
  Selection selection;
  selection.ranking.push_back({*variant, 1});
  CHECK(selection_record(selection)["ranking"][0]["not_done"] == json(variant->not_done));
  auto excusing = judged_cases;
  for (CaseRecord& one : excusing) one.excused = {"interpret"};
  const auto excused = read_evaluated(variant_record_of_v0001, excusing,
                                      [&](const std::string& name, const std::string& file) {
                                        return evolve::Result<json>(records.at(name + "/" + file));
                                      });
  REQUIRE(excused);
  CHECK(excused->not_done.empty());
}

TEST_CASE("a variant whose large timed cases were not compared does not survive") {
  auto records = ok_records();
  records["a/values.json"] = {{"verdict", "not_reached"}};
  auto variant = evaluated(records);
  REQUIRE(variant);
  CHECK_FALSE(variant->rejection);
  CHECK_FALSE(variant->is_confirmed);
  records["a/values.json"] = {{"verdict", "rejected"}, {"kind", "incorrect"}, {"reason", "r"}};
  variant = evaluated(records);
  REQUIRE(variant);
  REQUIRE(variant->rejection);
  CHECK(variant->rejection->step == "values");
}

TEST_CASE("what the model cannot follow has no modelled time, but may have a measured one") {
  auto records = ok_records();
  records["a/facts.json"] = {{"verdict", "rejected"}, {"kind", "not_modelled"}, {"reason", "r"}};
  records["a/time.json"] = {{"verdict", "not_reached"}, {"kind", "modelled"}};
  auto variant = evaluated(records);
  REQUIRE(variant);
  REQUIRE(variant->rejection);
  CHECK(variant->rejection->kind == "not_modelled");
  records["a/time.json"] = {{"verdict", "ok"}, {"kind", "measured"}, {"seconds", 0.5}};
  variant = evaluated(records);
  REQUIRE(variant);
  CHECK_FALSE(variant->rejection);
  CHECK(variant->modelled.empty());
  records["a/facts.json"] = {{"verdict", "ok"}, {"modelled", {{"seconds", 0.25}}}};
  CHECK(evaluated(records)->modelled.at("a") == 0.25);
}

TEST_CASE("a variant that did too little is rejected, whatever its measured time is") {
  auto records = ok_records();
  records["a/facts.json"] = {{"verdict", "rejected"}, {"kind", "suspicious"}, {"reason", "r"}};
  for (const json& time : {json{{"verdict", "ok"}, {"kind", "measured"}, {"seconds", 0.5}},
                           json{{"verdict", "not_reached"}, {"kind", "modelled"}}}) {
    records["a/time.json"] = time;
    const auto variant = evaluated(records);
    REQUIRE(variant);
    REQUIRE(variant->rejection);
    CHECK(variant->rejection->step == "analyze");
    CHECK(variant->rejection->kind == "suspicious");
  }
}

TEST_CASE("a variant is read from the records of its steps") {
  std::vector<std::string> asked;
  auto variant = evaluated(ok_records(), &asked);
  REQUIRE(variant);
  CHECK(asked == std::vector<std::string>{"a/lower.json", "c/lower.json", "a/contract.json",
                                          "c/contract.json", "c/check.json", "c/interpret.json",
                                          "a/compile.json", "a/facts.json", "a/time.json",
                                          "a/values.json"});
  CHECK_FALSE(variant->rejection);
  CHECK(variant->seconds == std::map<std::string, double>{{"a", 0.5}});
  CHECK(variant->programs == std::map<std::string, std::string>{{"a", "d1"}});
  CHECK(variant->parents == Ids{"v0000"});
  CHECK(variant->time_kind == TimeKind::modelled);
}

TEST_CASE("the first failing step is the reason, in the order of the steps") {
  auto records = ok_records();
  records["c/check.json"] = {
      {"verdict", "rejected"},
      {"kind", "incorrect"},
      {"reason", "far off"},
      {"evidence",
       {{"output", "out"}, {"element", {{"at", {3}}, {"got", "2"}, {"expected", 1.0}}}}}};
  records["a/time.json"] = {{"verdict", "rejected"}, {"kind", "suspicious"}, {"reason", "later"}};
  auto variant = evaluated(records);
  REQUIRE(variant);
  REQUIRE(variant->rejection);
  CHECK(variant->rejection->step == "check");
  CHECK(variant->rejection->case_name == "c");
  CHECK(variant->rejection->kind == "incorrect");
  REQUIRE(variant->rejection->evidence);
  REQUIRE(variant->rejection->evidence->worst);
  CHECK(variant->rejection->evidence->worst->output == "out");
  CHECK(variant->rejection->evidence->worst->expected == 1.0);
  records["c/contract.json"] = {
      {"verdict", "rejected"}, {"kind", "contract"}, {"reason", "a product outside"}};
  CHECK(evaluated(records)->rejection->step == "contract");
}

TEST_CASE("an access beyond memory is reported before wrong values, and these before a time-out") {
  auto rejected = [](const char* kind) {
    return json{{"verdict", "rejected"}, {"kind", kind}, {"reason", "told"}};
  };
  auto records = ok_records();
  records["c/check.json"] = rejected("incorrect");
  records["c/interpret.json"] = rejected("out-of-bounds");
  CHECK(evaluated(records)->rejection->step == "interpret");
  records["c/interpret.json"] = rejected("race");
  CHECK(evaluated(records)->rejection->kind == "race");
  records["c/interpret.json"] = rejected("incorrect");
  CHECK(evaluated(records)->rejection->step == "check");
  records["c/check.json"] = rejected("timeout");
  CHECK(evaluated(records)->rejection->step == "interpret");
  records["c/interpret.json"] = {{"verdict", "ok"}};
  CHECK(evaluated(records)->rejection->kind == "timeout");
}

TEST_CASE("a seed has a problem where a step turned it down, or could not be done") {
  auto records = ok_records();
  CHECK_FALSE(problem_of_seed(*evaluated(records)));
  records["c/check.json"] = {{"verdict", "not_done"}, {"reason", "no such operation"}};
  CHECK(problem_of_seed(*evaluated(records)) == "not done: check c: no such operation");
  records["c/interpret.json"] = {{"verdict", "rejected"}, {"kind", "race"}, {"reason", "two"}};
  CHECK(problem_of_seed(*evaluated(records)) == "interpret: case 'c': race: two");
}

TEST_CASE("a step that is not reached without a cause rejects as well") {
  auto records = ok_records();
  records["a/time.json"] = {{"verdict", "not_reached"}, {"kind", "modelled"}};
  auto variant = evaluated(records);
  REQUIRE(variant->rejection);
  CHECK(variant->rejection->kind == "not_reached");
  CHECK(variant->rejection->step == "time");
}

TEST_CASE("a record that is missing or broken is a fault, not a verdict") {
  auto records = ok_records();
  records["a/time.json"] = {{"verdict", "ok"}, {"kind", "modelled"}, {"seconds", 0}};
  CHECK(evaluated(records).error().message ==
        "v0001 a time.json: the seconds or the kind is missing or invalid");
  records["a/time.json"] = {{"verdict", "ok"}, {"seconds", 1}};
  CHECK(evaluated(records).error().message ==
        "v0001 a time.json: the seconds or the kind is missing or invalid");
  records["a/time.json"] = {{"verdict", "fine"}};
  CHECK(evaluated(records).error().message == "v0001 a time.json: the verdict is missing");
  records.erase("a/compile.json");
  CHECK(evaluated(records).error().message == "open 'a/compile.json': No such file or directory");
}

TEST_CASE("cases are read from a spec.json") {
  auto cases = read_cases(json::parse(R"({"cases": [{"name": "a", "tags": ["bench"], "weight": 2},
                                                    {"name": "c", "tags": ["check", "ci"], "weight": 1}]})"));
  REQUIRE(cases);
  CHECK((*cases)[0].judged.is_bench);
  CHECK((*cases)[0].weight == 2);
  CHECK((*cases)[1].judged.is_check);
  CHECK_FALSE((*cases)[1].judged.is_bench);
  CHECK_FALSE(read_cases(json::parse(R"({"cases": [{"name": "a"}]})")));
}

TEST_CASE("a model's answer without a kernel is a rejection, although its parent takes its place") {
  json variant = variant_record_of_v0001;
  variant["exchange"] = {{"model", "m"}};
  variant["problem"] = {{"kind", "no-code"}, {"reason", "no fenced block"}};
  auto records = ok_records();
  auto read =
      read_evaluated(variant, judged_cases, [&](const std::string& name, const std::string& file) {
        return evolve::Result<json>(records.at(name + "/" + file));
      });
  REQUIRE(read);
  REQUIRE(read->rejection);
  CHECK(read->rejection->step == "adopt");
  CHECK(read->rejection->kind == "no-code");
  REQUIRE(read->exchange);
  CHECK(read->exchange->model == "m");
}
