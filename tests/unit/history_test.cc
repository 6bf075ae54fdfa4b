#include "engine/search/history/history.h"

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::search;

namespace {

Evaluated variant(VariantId id, const std::string& program, double seconds) {
  Evaluated out;
  out.id = id;
  out.round = 1;
  out.mutator = "sweep";
  out.parents = {"v0000"};
  out.parameters = {{"P", id.number()}};
  out.note = "P 0 -> 1";
  out.source = "source of " + id.text();
  out.structure = "one";
  out.time_kind = TimeKind::modelled;
  if (!program.empty()) out.programs = {{"a", program}};
  out.seconds = {{"a", seconds}};
  if (seconds > 0) return out;
  out.seconds.clear();
  out.rejection = {"lower", "a", "lower-error", "no such name", RejectionEvidence()};
  return out;
}

SelectionRequest request_of(std::vector<Evaluated> variants) {
  SelectionRequest request;
  request.cases = {{"a", 1}};
  request.seed = variant("v0000", "p0", 1);
  request.seed.round = 0;
  request.variants = std::move(variants);
  return request;
}

History after(History history, const SelectionRequest& request) {
  auto selection = select(request);
  REQUIRE(selection);
  const History round = history_of_round(history, request, *selection);
  history.insert(history.end(), round.begin(), round.end());
  return history;
}

}  // namespace

TEST_CASE("a history has the seed first, then every variant with what became of it") {
  const History history =
      after({}, request_of({variant("v0001", "p1", 0.5), variant("v0002", "", 0)}));
  REQUIRE(history.size() == 3);
  CHECK(history[0].id == VariantId("v0000"));
  CHECK(history[0].score == 1);
  CHECK(history[1].score == 2);
  CHECK(!history[1].known_as);
  CHECK(!history[2].score);
  CHECK(history[2].program.empty());
  CHECK(history[2].rejection->kind == "lower-error");
  CHECK(!history[2].rejection->evidence);
  // The next round adds only its variants, because the history already has the seed.
  SelectionRequest second = request_of({variant("v0003", "p3", 0.4)});
  second.round = 2;
  CHECK(after(history, second).size() == 4);
}

TEST_CASE("a known program names its first variant, also one of the same round") {
  const History first = after({}, request_of({variant("v0001", "p0", 1), variant("v0002", "p2", 1),
                                              variant("v0003", "p2", 1), variant("v0004", "", 0),
                                              variant("v0005", "", 0)}));
  CHECK(first[1].known_as == VariantId("v0000"));
  CHECK(!first[2].known_as);
  CHECK(first[3].known_as == VariantId("v0002"));
  // Variants that were never lowered have no program in common.
  CHECK(!first[5].known_as);
}

TEST_CASE("history.jsonl is a line a variant, and reads back") {
  Evaluated asked = variant("v0002", "p2", 0);
  asked.exchange = ExchangeSummary{"m", "rewrite", 0.02, 12, {"Wide is fast."}};
  const History history = after({}, request_of({variant("v0001", "p0", 0.5), asked}));
  const std::string lines = history_lines(history);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);
  auto read = read_history(lines);
  REQUIRE(read);
  CHECK(history_lines(*read) == lines);
  CHECK(read->at(1).known_as == VariantId("v0000"));
  REQUIRE(read->at(2).exchange);
  CHECK(read->at(2).exchange->model == "m");
  CHECK(read->at(2).exchange->learnings.size() == 1);
  CHECK(read->at(2).rejection->reason == "no such name");
  CHECK(read_history("")->empty());
}

TEST_CASE("a text that is not a history is an external error with its line") {
  const std::string good = history_lines(after({}, request_of({})));
  for (const char* line :
       {"{", "7", "{}", R"({"variant": "v1", "round": 1, "parameters": {}})",
        R"({"variant": "v0001", "round": 1})",
        R"({"variant": "v0001", "round": 1, "parameters": 3})",
        R"({"variant": "v0001", "round": 1, "parameters": {}, "rejection": 1})"}) {
    auto read = read_history(good + line + "\n");
    INFO(line);
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::external);
    CHECK(read.error().message.starts_with("line 2: "));
  }
}
