// Tests of the ids of variants, of the records of a variant's origin, and of reading selection.json
// back.
#include "engine/search/variant.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "engine/search/selection/origin.h"
#include "engine/search/selection/selection_record.h"
#include "engine/search/time_kind.h"
#include "tests/catch.h"
#include "tests/synthetic_rounds.h"

using namespace evolve;
using nlohmann::json;

TEST_CASE("the id of a variant has one spelling", "[variant]") {
  for (const int number : {0, 7, 9'999, 10'000, 99'999'999}) {
    const VariantId id(number);
    const auto read = VariantId::parse(id.text());
    REQUIRE(read);
    CHECK(read->number() == number);
  }
  CHECK(VariantId(7).text() == "v0007");
  CHECK(VariantId(12'345).text() == "v12345");
  CHECK(fmt::format("{:>6}", VariantId("v0007")) == " v0007");
  CHECK(json(VariantId(7)) == "v0007");
  for (const char* text : {"", "v", "0007", "v7", "v007", "v00007", "V0007", "v0007 ", " v0007",
                           "v00x7", "v-007", "v100000000", "xla"}) {
    INFO(text);
    CHECK(!VariantId::parse(text));
  }
}

TEST_CASE("ids are ordered by age, and can be keys", "[variant]") {
  CHECK(VariantId("v9999") < VariantId("v10000"));
  const std::unordered_set<VariantId> ids = {"v0001", "v0002", "v0001"};
  CHECK(ids.size() == 2);
}

TEST_CASE("the kinds of times have stored names", "[variant]") {
  CHECK(parse_time_kind("modelled") == TimeKind::modelled);
  CHECK(parse_time_kind("measured") == TimeKind::measured);
  CHECK(!parse_time_kind("none"));
  CHECK(std::string(to_string(TimeKind::measured)) == "measured");
}

TEST_CASE("an origin is read back from its variant.json", "[variant]") {
  search::Origin origin;
  origin.id = "v0007";
  origin.round = 2;
  origin.mutator = "llm";
  origin.parents = {"v0003", "v0001"};
  origin.parameters = {{"BLOCK", 128}};
  origin.note = "wider";
  origin.exchange = search::ExchangeSummary{"m", "rewrite", 0.25, 100, {"Wide is fast."}};
  const json record = search::variant_record(origin);
  auto read = search::read_origin(record, "id", "variant.json");
  REQUIRE(read);
  CHECK(search::variant_record(*read) == record);
  json nameless = record;
  nameless["id"] = "v7";
  CHECK(search::read_origin(nameless, "id", "variant.json").error().message ==
        "variant.json: the id or the round is missing");
}

TEST_CASE("a rejection keeps the evidence of its step", "[variant]") {
  for (const char* evidence : {R"({})", R"({"output": "y", "inputs": "public",
                     "element": {"at": [0, 7], "got": "nan", "expected": 1.5}})",
                               R"({"output": "y", "inputs": "public",
            "element": {"at": [], "got": "2", "expected": null}})"}) {
    json record = {{"step", "check"}, {"case", "a"}, {"kind", "incorrect"}, {"reason", "off"}};
    record["evidence"] = json::parse(evidence);
    auto read = search::read_rejection(record);
    REQUIRE(read);
    CHECK(search::rejection_record(*read) == record);
  }
}

TEST_CASE("a selection that is read is written again as the same bytes", "[variant]") {
  for (const char* policy : {"top", "lineages", "islands", "map_elites", "pareto"}) {
    INFO(policy);
    search::SelectionRule rule;
    rule.policy = policy;
    rule.top_k = 3;
    tests::SyntheticRounds rounds(rule, 12, 5);
    for (int round = 0; round < 6; ++round) {
      auto selection = search::select(rounds.next());
      REQUIRE(selection);
      const json record = search::selection_record(*selection);
      auto read = search::read_selection(json::parse(record.dump()));
      REQUIRE(read);
      CHECK(search::selection_record(*read).dump(2) == record.dump(2));
      CHECK(search::best_record(*read) == record["best"]);
      REQUIRE(rounds.take(record));
    }
  }
}
