#include "engine/search/selection/population.h"

#include <fmt/format.h>

#include <set>

#include "engine/core/digest.h"
#include "engine/search/selection/selection_record.h"
#include "tests/catch.h"
#include "tests/synthetic_rounds.h"

using namespace evolve::search;
using evolve::TimeKind;
using evolve::VariantId;
using nlohmann::json;

namespace {

Evaluated timed(VariantId id, int round, double a, double b, VariantId parent = "v0000") {
  Evaluated out;
  out.id = id;
  out.round = round;
  out.parents = {parent};
  out.parameters = {{"P", id.number()}};
  out.time_kind = TimeKind::modelled;
  out.seconds = {{"a", a}, {"b", b}};
  return out;
}

// Returns a variant that is equally fast in both cases.
Evaluated even(VariantId id, int round, double seconds, VariantId parent = "v0000") {
  return timed(id, round, seconds, seconds, parent);
}

Evaluated in_cell(VariantId id, double seconds, const std::string& cell) {
  Evaluated out = even(id, 1, seconds);
  out.cell = cell;
  return out;
}

// The rounds of a campaign. As in the steps, each round reads the record of the round before.
class Campaign {
 public:
  explicit Campaign(SelectionRule rule, uint64_t random_seed = 0)
      : rule_(std::move(rule)), random_seed_(random_seed) {}

  const Selection& round(std::vector<Evaluated> variants) {
    SelectionRequest request;
    request.cases = {{"a", 1}, {"b", 1}};
    request.round = ++round_;
    request.rule = rule_;
    request.random_seed = random_seed_;
    request.seed = even("v0000", 0, 1);
    request.variants = std::move(variants);
    if (round_ > 1) {
      auto previous = read_selection(selection_record(selection_));
      REQUIRE(previous);
      request.before = previous->survivors;
      request.places = previous->places;
      request.lineages_made = previous->lineages_made;
    }
    auto selection = select(request);
    REQUIRE(selection);
    selection_ = *std::move(selection);
    return selection_;
  }

 private:
  SelectionRule rule_;
  uint64_t random_seed_;
  int round_ = 0;
  Selection selection_;
};

std::vector<std::string> survivors(const Selection& selection) {
  std::vector<std::string> out;
  for (const Survivor& one : selection.survivors) {
    std::string text = one.name.empty() ? "" : one.name + " ";
    if (one.island > 0) text = std::to_string(one.island) + " ";
    out.push_back(text + one.variant.id.text());
  }
  return out;
}

std::vector<std::string> pruned(const Selection& selection) {
  std::vector<std::string> out;
  for (const Pruned& one : selection.pruned) out.push_back(one.survivor.name + " " + one.reason);
  return out;
}

using Texts = std::vector<std::string>;
using Places = std::vector<int>;

SelectionRule rule(const std::string& policy, int top_k) {
  SelectionRule out;
  out.policy = policy;
  out.top_k = top_k;
  return out;
}

}  // namespace

TEST_CASE("top: the best of all, and the places in turn") {
  Campaign campaign(rule("top", 2));
  const Selection& first =
      campaign.round({even("v0001", 1, 0.8), even("v0002", 1, 0.5), even("v0003", 1, 0.9)});
  CHECK(survivors(first) == Texts{"v0002", "v0001"});
  CHECK(first.places == Places{1, 2, 1});
  CHECK(survivors(campaign.round({even("v0004", 2, 0.7)})) == Texts{"v0002", "v0004"});
}

TEST_CASE("lineages: founders are the first round's best, and children carry them on") {
  Campaign campaign(rule("lineages", 2));
  // The seed is not a founder, although it is faster than one of the founders.
  CHECK(survivors(campaign.round({even("v0001", 1, 1.2), even("v0002", 1, 0.5),
                                  even("v0003", 1, 1.5)})) == Texts{"L1 v0002", "L2 v0001"});
  const Selection& second =
      campaign.round({even("v0004", 2, 0.6, "v0002"), even("v0005", 2, 0.4, "v0001")});
  CHECK(survivors(second) == Texts{"L2 v0005", "L1 v0002"});
  CHECK(second.survivors[0].stagnant_rounds == 0);
  CHECK(second.survivors[0].path == std::vector<VariantId>{"v0001", "v0005"});
  CHECK(second.survivors[0].reason == "L2 from 'v0001': 0.8333 -> 2.5");
  CHECK(second.survivors[1].stagnant_rounds == 1);
  CHECK(second.survivors[1].path == std::vector<VariantId>{"v0002"});
  // A lineage without a child is stagnant for another round.
  const Selection& third = campaign.round({even("v0006", 3, 0.3, "v0005")});
  CHECK(third.survivors[1].stagnant_rounds == 2);
  CHECK(third.survivors[1].reason == "L1 stays: no child is faster, for 2 rounds");
}

TEST_CASE("lineages: what is faster by less than a tie is stagnation, but not by points") {
  for (bool by_point : {false, true}) {
    SelectionRule glaucis = rule("lineages", 1);
    glaucis.by_point = by_point;
    Campaign campaign(glaucis);
    campaign.round({even("v0001", 1, 0.5)});
    const Selection& second = campaign.round({even("v0002", 2, 0.498, "v0001")});
    CHECK(survivors(second) == Texts{by_point ? "L1 v0002" : "L1 v0001"});
    CHECK(second.survivors[0].stagnant_rounds == (by_point ? 0 : 1));
  }
}

TEST_CASE("lineages: over the cap the most stagnant goes first, of several the slowest") {
  SelectionRule few = rule("lineages", 3);
  few.most_lineages = 3;
  Campaign campaign(few);
  campaign.round({even("v0001", 1, 0.5), even("v0002", 1, 0.6), even("v0003", 1, 0.7)});
  // L2 gets a faster child; L1 and L3 do not. A child of the seed starts a lineage of its own.
  const Selection& second =
      campaign.round({even("v0004", 2, 0.55, "v0002"), even("v0005", 2, 0.4, "v0000")});
  CHECK(survivors(second) == Texts{"L4 v0005", "L1 v0001", "L2 v0004"});
  CHECK(pruned(second) == Texts{"L3 stagnant_1_rounds"});
  // The name of a lineage that has ended is not given again.
  CHECK(survivors(campaign.round({even("v0006", 3, 0.2)})).front() == "L5 v0006");
}

TEST_CASE("lineages: of two with the same program the first goes on") {
  Campaign campaign(rule("lineages", 2));
  campaign.round({even("v0001", 1, 0.5), even("v0002", 1, 0.6)});
  Evaluated one = even("v0003", 2, 0.3, "v0001"), same = even("v0004", 2, 0.3, "v0002");
  one.programs = same.programs = {{"a", "p"}, {"b", "q"}};
  const Selection& second = campaign.round({one, same});
  CHECK(survivors(second) == Texts{"L1 v0003"});
  CHECK(pruned(second) == Texts{"L2 same_as_L1"});
}

TEST_CASE("lineages: a mended variant is a child of its second parent, a crossover of its first") {
  Campaign campaign(rule("lineages", 2));
  campaign.round({even("v0001", 1, 0.5), even("v0002", 1, 0.6), even("v0003", 1, 0.9)});
  Evaluated mended = even("v0004", 2, 0.4);
  mended.parents = {"v0003", "v0002"};
  Evaluated crossed = even("v0005", 2, 0.45);
  crossed.parents = {"v0001", "v0002"};
  CHECK(survivors(campaign.round({mended, crossed})) == Texts{"L2 v0004", "L1 v0005"});
}

TEST_CASE("lineages: what is best so far stays, however long nothing was better") {
  SelectionRule one = rule("lineages", 1);
  one.most_lineages = 1;
  Campaign campaign(one);
  campaign.round({even("v0001", 1, 0.5)});
  const Selection& second = campaign.round({even("v0002", 2, 0.7)});
  CHECK(survivors(second) == Texts{"L1 v0001"});
  CHECK(pruned(second) == Texts{"L2 below_top_k"});
}

TEST_CASE("every place comes to every survivor, from round to round") {
  for (const std::string policy : {"top", "lineages", "islands", "pareto"}) {
    INFO(policy);
    SelectionRule two = rule(policy, policy == "islands" ? 1 : 2);
    two.islands = 2;
    Campaign campaign(two);
    const auto variants = [](int round) {
      return std::vector<Evaluated>{timed(VariantId(2 * round - 1), round, 0.4, 0.9),
                                    timed(VariantId(2 * round), round, 0.9, 0.5)};
    };
    const Places first = campaign.round(variants(1)).places;
    REQUIRE(first.size() == 2);
    REQUIRE(first[0] != first[1]);
    CHECK(campaign.round(variants(2)).places == Places{first[1], first[0]});
  }
}

TEST_CASE("islands: variants compete at home, until the best migrate") {
  SelectionRule two = rule("islands", 1);
  two.islands = 2;
  two.migration_interval = 2;
  Campaign campaign(two);
  const Selection& first = campaign.round(
      {even("v0001", 1, 0.5), even("v0002", 1, 0.9), even("v0003", 1, 0.4), even("v0004", 1, 0.8)});
  // v0001 is faster than v0004, but belongs to another island.
  CHECK(survivors(first) == Texts{"1 v0003", "2 v0004"});
  CHECK(first.places == Places{1, 2, 1, 2});
  const Selection& second =
      campaign.round({even("v0005", 2, 0.45, "v0003"), even("v0006", 2, 0.7, "v0004")});
  // At the end of the second round each island is offered the other's best.
  CHECK(survivors(second) == Texts{"1 v0003", "2 v0003"});
  CHECK(second.survivors[1].reason.starts_with("island 2: "));
  // A child belongs to the island of its place.
  CHECK(survivors(campaign.round({even("v0007", 3, 0.35, "v0003"),
                                  even("v0008", 3, 0.3, "v0003")})) == Texts{"1 v0008", "2 v0007"});
}

TEST_CASE("map_elites: the best of each cell, parents by chance, the same for the same seed") {
  SelectionRule elites = rule("map_elites", 1);
  Campaign campaign(elites, 3);
  const auto variants = {in_cell("v0001", 0.5, "mxu"), in_cell("v0002", 0.9, "dma"),
                         in_cell("v0003", 0.6, "mxu"), in_cell("v0004", 0.49, "mxu"),
                         in_cell("v0005", 3.0, "vector")};
  const Selection& first = campaign.round(variants);
  // v0004 ties with v0001, which is earlier. The seed has a cell of its own here.
  CHECK(survivors(first) == Texts{"v0001", "v0002", "v0000", "v0005"});
  CHECK(first.survivors[0].reason.starts_with("mxu: "));
  CHECK(first.places.size() == 5);
  CHECK(Campaign(elites, 3).round(variants).places == first.places);
  std::set<Places> drawn;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    drawn.insert(Campaign(elites, seed).round(variants).places);
  }
  CHECK(drawn.size() > 4);
  // An elite stays from round to round, until its cell has a better variant.
  CHECK(survivors(campaign.round({in_cell("v0006", 0.7, "dma")})) ==
        Texts{"v0001", "v0006", "v0000", "v0005"});
  elites.most_cells = 2;
  CHECK(survivors(Campaign(elites).round(variants)) == Texts{"v0001", "v0002"});
}

TEST_CASE(
    "pareto: a variant that is beaten in no case survives, and a tie does not beat a variant") {
  Campaign campaign(rule("pareto", 3));
  const Selection& first =
      campaign.round({timed("v0001", 1, 0.5, 0.6), timed("v0002", 1, 0.9, 0.3),
                      timed("v0003", 1, 0.55, 0.65), timed("v0004", 1, 0.4, 0.95)});
  // v0001 beats v0003.
  CHECK(survivors(first) == Texts{"v0002", "v0004", "v0001"});
  CHECK(first.survivors[1].reason.starts_with("fastest in a: "));
  // A variant that is 1 % faster in one case and much slower in the other is not on the front.
  CHECK(survivors(Campaign(rule("pareto", 3))
                      .round({timed("v0001", 1, 0.5, 0.5), timed("v0002", 1, 0.495, 0.9)})) ==
        Texts{"v0001"});
}

TEST_CASE("no variant survives a round without times, and the seed gets the places") {
  for (const std::string& policy : policy_names()) {
    INFO(policy);
    SelectionRule one = rule(policy, 2);
    SelectionRequest request;
    request.cases = {{"a", 1}};
    request.rule = one;
    request.seed = even("v0000", 0, 1);
    request.seed.rejection = {"compile", "a", "crash", "", {}};
    request.variants = {request.seed};
    auto selection = select(request);
    REQUIRE(selection);
    CHECK(selection->survivors.empty());
    CHECK(selection->places.empty());
  }
}

TEST_CASE("a cell is what the compiler made of a program") {
  CHECK(cell_of(json::parse(R"({
    "bottleneck": "mxu", "utilisation": {"mxu": 0.55},
    "vmem": {"allocated_bytes": 40, "capacity_bytes": 64,
             "windows": [{"window_bytes": 1024}, {"window_bytes": 524288}]}})")) ==
        "mxu vmem-2 mxu-2 block-19");
  CHECK(cell_of(json::parse(R"({"bottleneck": "vector"})")) == "vector vmem-0 mxu-0 block-0");
  CHECK(cell_of(json()) == "unknown vmem-0 mxu-0 block-0");
}

TEST_CASE("a campaign's selections are pinned, whatever the policy: the same on any machine") {
  std::map<std::string, std::string> digests;
  for (const std::string& policy : policy_names()) {
    SelectionRule one = rule(policy, 3);
    one.migration_interval = 2;
    evolve::tests::SyntheticRounds rounds(one, 40, 11, 7);
    std::string all;
    History history;
    for (int round = 1; round <= 5; ++round) {
      const SelectionRequest request = rounds.next();
      auto selection = select(request);
      REQUIRE(selection);
      const json record = selection_record(*selection);
      const History made = history_of_round(history, request, *selection);
      history.insert(history.end(), made.begin(), made.end());
      REQUIRE(rounds.take(record));
      all += record.dump();
    }
    CHECK(history.size() == 1 + 5 * 40);
    digests[policy] = evolve::digest_of(all + history_lines(history)).brief();
  }
  std::string text;
  for (const auto& [policy, digest] : digests) text += policy + " " + digest + "\n";
  CHECK(text ==
        "islands d7718cc9cfa0\nlineages e6039eae8231\nmap_elites 3c074504c8e6\n"
        "pareto 041a8417af3d\ntop 24406c74d8ae\n");
}
