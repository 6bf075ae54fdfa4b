#include "engine/search/space/sweep.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/search/proposal/mutation.h"
#include "engine/search/space/random.h"
#include "engine/search/space/sampler.h"
#include "tests/catch.h"

using namespace evolve::search;

namespace {

Space make_space(const std::vector<std::string>& constraints = {}) {
  auto space = Space::make({{"BLOCK_M", {128, 256, 512, 1024, 2048}},
                            {"BLOCK_N", {128, 256, 512, 1024, 2048}},
                            {"BLOCK_K", {256, 512, 1024, 2048}}},
                           constraints);
  if (!space) FAIL(space.error().message);
  return *std::move(space);
}

const Point seed_point = {{"BLOCK_M", 512}, {"BLOCK_N", 512}, {"BLOCK_K", 512}};

std::vector<SweepVariant> proposals(const SweepRequest& request) {
  auto result = propose(request);
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

// Returns `count` places of the first parent, of which the share `share` explores.
std::vector<SweepPlace> of_first(size_t count, double share = 0.25) {
  std::vector<SweepPlace> out(count);
  for (size_t i = 0; i < count; ++i) out[i].explores = explores(i, share);
  return out;
}

std::vector<std::string> notes(const std::vector<SweepVariant>& from) {
  std::vector<std::string> out;
  out.reserve(from.size());
  for (const SweepVariant& proposal : from) out.push_back(proposal.note);
  return out;
}

// Counts the steps between two points along the parameters' lists of values.
int64_t steps(const Space& space, const Point& a, const Point& b) {
  int64_t sum = 0;
  for (const evolve::Parameter& parameter : space.parameters()) {
    auto place = [&](const Point& point) {
      return std::find(parameter.values.begin(), parameter.values.end(), point.at(parameter.name)) -
             parameter.values.begin();
    };
    sum += std::abs(place(a) - place(b));
  }
  return sum;
}

}  // namespace

TEST_CASE("the proposals of a seed and round are pinned") {
  Space space =
      make_space({"BLOCK_M * BLOCK_N * BLOCK_K <= 1073741824", "BLOCK_M * BLOCK_N >= 65536"});
  auto list = proposals({space, "local", {{"v0000", seed_point}}, {}, 1, 1, of_first(8)});
  CHECK(notes(list) ==
        std::vector<std::string>{
            "BLOCK_N 512 -> 1024",
            "BLOCK_N 512 -> 256",
            "BLOCK_M 512 -> 256",
            "BLOCK_K 512 -> 1024, BLOCK_N 512 -> 2048 (from the whole space)",
            "BLOCK_M 512 -> 1024",
            "BLOCK_K 512 -> 1024",
            "BLOCK_K 512 -> 256",
            "BLOCK_K 512 -> 2048, BLOCK_M 512 -> 2048, BLOCK_N 512 -> 128 (from the whole space)",
        });
}

TEST_CASE("the same request gives the same proposals, another seed or round gives others") {
  Space space = make_space();
  auto list = notes(proposals({space, "local", {{"v0000", seed_point}}, {}, 1, 1, of_first(8)}));
  CHECK(notes(proposals({space, "local", {{"v0000", seed_point}}, {}, 1, 1, of_first(8)})) == list);
  CHECK(notes(proposals({space, "local", {{"v0000", seed_point}}, {}, 2, 1, of_first(8)})) != list);
  CHECK(notes(proposals({space, "local", {{"v0000", seed_point}}, {}, 1, 2, of_first(8)})) != list);
}

TEST_CASE("proposals are distinct, new, legal, for every sampler and many seeds") {
  Space space = make_space({"BLOCK_M * BLOCK_N <= 1048576"});
  for (const std::string& sampler : sampler_names()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      INFO(sampler);
      std::vector<Trial> trials = {{seed_point, 1}};
      for (uint64_t round = 1; round <= 4; ++round) {
        auto list =
            proposals({space, sampler, {{"v0000", seed_point}}, trials, seed, round, of_first(8)});
        REQUIRE(list.size() == 8);
        for (const SweepVariant& proposal : list) {
          REQUIRE(std::none_of(trials.begin(), trials.end(),
                               [&](const Trial& trial) { return trial.point == proposal.point; }));
          REQUIRE(*space.allows(proposal.point));
          REQUIRE(proposal.is_new);
          const bool is_rejected = trials.size() % 3 == 0;
          trials.push_back({proposal.point, is_rejected ? std::nullopt : std::optional(2.0)});
        }
      }
    }
  }
}

TEST_CASE("for local, a trial's result makes no difference, only that there was a trial") {
  Space space = make_space();
  const Point other = {{"BLOCK_M", 256}, {"BLOCK_N", 512}, {"BLOCK_K", 512}};
  auto of = [&](const std::vector<Trial>& trials) {
    return notes(proposals({space, "local", {{"v0000", seed_point}}, trials, 1, 2, of_first(8)}));
  };
  const auto list = of({{seed_point, 1}, {other, 0.5}});
  CHECK(of({{seed_point, std::nullopt}, {other, std::nullopt}}) == list);
  CHECK(of({{seed_point, 1}}) != list);
}

TEST_CASE("a sampler's proposals follow what the trials cost") {
  std::vector<int64_t> values(64);
  std::iota(values.begin(), values.end(), 1);
  auto space = Space::make({{"A", values}, {"B", values}}, {});
  REQUIRE(space);
  auto is_near = [](const Point& point) { return point.at("A") + point.at("B") > 96; };
  for (const std::string sampler : {"model", "evolution", "tpe"}) {
    INFO(sampler);
    int near = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      Random random(seed);
      std::vector<Trial> trials;
      for (int i = 0; i < 40; ++i) {
        const Point point = space->at(random.below(space->size()));
        trials.push_back({point, 200.0 - static_cast<double>(point.at("A") + point.at("B"))});
      }
      SweepRequest request{*space, sampler,       {{"v0000", space->at(0)}}, trials, seed,
                           2,      of_first(8, 0)};
      for (const SweepVariant& proposal : proposals(request))
        near += is_near(proposal.point) ? 1 : 0;
    }
    CHECK(near > 20);  // of 80; chance gives ten
  }
}

TEST_CASE("without trials the model begins at the parents, not in the middle") {
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  auto space =
      Space::make({{"A", values}, {"B", values}, {"C", values}, {"D", values}, {"E", values}}, {});
  REQUIRE(space);
  SweepRequest request{*space, "model", {{"v0000", space->at(0)}}, {}, 1, 1, of_first(20, 0)};
  int kept = 0;
  for (const SweepVariant& proposal : proposals(request)) {
    for (const auto& [name, number] : proposal.point) kept += number == 1 ? 1 : 0;
  }
  CHECK(kept > 30);  // of 100
}

TEST_CASE("a sampler is told of the trials, and that what the constraints forbid is not valid") {
  Space space = make_space({"BLOCK_M * BLOCK_N <= 262144"});
  std::vector<Trial> trials;
  for (uint64_t i = 0; i < 30; i += 3)
    trials.push_back({space.at(i), i == 3 ? std::nullopt : std::optional<double>(100 - i)});
  SweepRequest request{space, "model", {{"v0000", trials[0].point}}, trials, 1, 2, of_first(20, 0)};
  auto sampler = make_sampler("model", *space.grid(), Random(1, 2).next(), 20);
  REQUIRE(sampler);
  for (const Trial& trial : trials) (*sampler)->tell(*space.index_of(trial.point), trial.cost);
  for (const SweepVariant& proposal : proposals(request)) {
    auto point = (*sampler)->next();
    for (; !*space.allows(space.at(*point)); point = (*sampler)->next())
      (*sampler)->tell(*point, std::nullopt);
    CHECK(proposal.point == space.at(*point));
  }
}

TEST_CASE("a sampler's proposal is of the parent that it differs least from, the best of several") {
  Space space = make_space();
  const Point other = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 256}};
  SweepRequest request{space, "random",    {{"v0003", seed_point}, {"v0007", other}}, {}, 0,
                       2,     of_first(60)};
  auto differing = [](const Point& a, const Point& b) {
    int count = 0;
    for (const auto& [name, number] : a) count += b.at(name) == number ? 0 : 1;
    return count;
  };
  std::set<size_t> parents;
  for (const SweepVariant& proposal : proposals(request)) {
    const bool is_other = differing(other, proposal.point) < differing(seed_point, proposal.point);
    CHECK(proposal.parent == (is_other ? 1 : 0));
    CHECK(proposal.note.starts_with(
        describe_change(request.parents[proposal.parent].point, proposal.point)));
    parents.insert(proposal.parent);
  }
  CHECK(parents.size() == 2);
}

TEST_CASE("a trial with a value that is in no list is not told, and no reason to fail") {
  Space space = make_space();
  Point odd = seed_point;
  odd["BLOCK_M"] = 300;
  for (const std::string& sampler : sampler_names()) {
    INFO(sampler);
    SweepRequest request{space, sampler, {{"v0000", odd}}, {{odd, 1}}, 0, 1, of_first(8)};
    auto list = proposals(request);
    CHECK(
        std::all_of(list.begin(), list.end(), [](const SweepVariant& one) { return one.is_new; }));
    if (sampler == "local") continue;
    for (const SweepVariant& proposal : list) CHECK(space.index_of(proposal.point));
    request.trials.clear();
    CHECK(notes(proposals(request)).size() == 8);
  }
}

TEST_CASE("near proposals come first, and a share explores") {
  Space space = make_space();
  SweepRequest request{space, "local", {{"v0000", seed_point}}, {}, 3, 1, of_first(6, 0)};
  for (const SweepVariant& proposal : proposals(request))
    CHECK(steps(space, seed_point, proposal.point) == 1);
  request.places = of_first(8, 0);  // only six neighbours exist
  auto list = proposals(request);
  CHECK(steps(space, seed_point, list[6].point) == 2);
  CHECK(steps(space, seed_point, list[7].point) == 2);
  request.places = of_first(8);
  list = proposals(request);
  for (size_t i = 0; i < list.size(); ++i) {
    INFO(i);
    CHECK(list[i].note.ends_with("(from the whole space)") == (i == 3 || i == 7));
  }
}

TEST_CASE("a share of a campaign explores, however few the places of a round are") {
  auto explored = [](size_t count, double share) {
    std::vector<size_t> out;
    for (size_t i = 0; i < count; ++i) {
      if (explores(i, share)) out.push_back(i);
    }
    return out;
  };
  CHECK(explored(12, 0.25) == std::vector<size_t>{3, 7, 11});
  CHECK(explored(1000, 0.1).size() == 100);
  CHECK(explored(10, 0).empty());
  CHECK(explored(10, 1).size() == 10);
}

TEST_CASE("a place is its parent's") {
  Space space = make_space();
  Point other = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 256}};
  auto list = proposals({space,
                         "local",
                         {{"v0003", seed_point}, {"v0007", other}},
                         {},
                         0,
                         2,
                         {{0}, {1}, {1}, {0}, {1}}});
  std::vector<size_t> parents;
  parents.reserve(list.size());
  for (const SweepVariant& proposal : list) parents.push_back(proposal.parent);
  CHECK(parents == std::vector<size_t>{0, 1, 1, 0, 1});
}

TEST_CASE("a parent's value that is in no list lies between its neighbours") {
  auto space = Space::make({{"BLOCK", {128, 256, 512}}}, {});
  REQUIRE(space);
  SweepRequest request{*space, "local", {{"v0000", {{"BLOCK", 300}}}}, {}, 0, 1, of_first(3, 0)};
  std::set<int64_t> near;
  auto list = proposals(request);
  near.insert(list[0].point.at("BLOCK"));
  near.insert(list[1].point.at("BLOCK"));
  CHECK(near == std::set<int64_t>{256, 512});
  CHECK(list[2].note == "BLOCK 300 -> 128");
}

TEST_CASE("an exhausted space repeats the best parent and says so") {
  auto space = Space::make({{"BLOCK", {128, 256}}}, {});
  REQUIRE(space);
  auto list = proposals({*space, "local", {{"v0000", {{"BLOCK", 128}}}}, {}, 0, 1, of_first(3)});
  CHECK(notes(list) == std::vector<std::string>{"BLOCK 128 -> 256",
                                                "nothing new is left: repeats v0000",
                                                "nothing new is left: repeats v0000"});
  CHECK(list[0].is_new);
  CHECK_FALSE(list[1].is_new);
  CHECK(list[2].point == Point{{"BLOCK", 128}});
  for (const std::string& sampler : sampler_names()) {
    INFO(sampler);
    CHECK(
        notes(proposals({*space, sampler, {{"v0000", {{"BLOCK", 128}}}}, {}, 0, 1, of_first(3)})) ==
        notes(list));
  }
}

TEST_CASE("the last free points are found though chance would miss them") {
  std::vector<int64_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  auto space = Space::make({{"A", values}, {"B", values}}, {"A == 999 && B >= 998"});
  REQUIRE(space);
  for (const std::string& sampler : sampler_names()) {
    INFO(sampler);
    auto list =
        proposals({*space, sampler, {{"v0000", {{"A", 0}, {"B", 0}}}}, {}, 0, 1, of_first(3)});
    CHECK(list[0].is_new);
    CHECK(list[1].is_new);
    CHECK_FALSE(list[2].is_new);
  }
}

TEST_CASE("a space without parameters has only the seed") {
  auto space = Space::make({}, {});
  REQUIRE(space);
  for (const std::string& sampler : sampler_names())
    CHECK_FALSE(proposals({*space, sampler, {{"v0000", {}}}, {}, 0, 1, of_first(1)})[0].is_new);
}

TEST_CASE("a constraint without a value is an error, not a crash") {
  auto space = Space::make({{"A", {0, 1}}}, {"1 / A > 0"});
  REQUIRE(space);
  CHECK(
      propose({*space, "local", {{"v0000", {{"A", 1}}}}, {}, 0, 1, of_first(1)}).error().message ==
      "formula '1 / A > 0': the value is not finite; a division by zero?");
  CHECK(
      propose({*space, "random", {{"v0000", {{"A", 1}}}}, {}, 0, 1, of_first(1)}).error().message ==
      "formula '1 / A > 0': the value is not finite; a division by zero?");
  CHECK(
      propose({*space, "locale", {{"v0000", {{"A", 1}}}}, {}, 0, 1, of_first(1)}).error().message ==
      "unknown sampler 'locale', did you mean 'local'?");
  CHECK_FALSE(Space::make({{"A", {0}}}, {"B > 1"}));
  CHECK(propose({*space, "local", {}, {}, 0, 1, of_first(1)}).error().code ==
        evolve::ErrorCode::internal);
  CHECK(propose({*space, "local", {{"v0000", {}}}, {}, 0, 1, of_first(1)}).error().message ==
        "parent 'v0000' lacks 'A'");
}

TEST_CASE("a space counts its points") {
  Space space = make_space();
  CHECK(space.size() == 100);
  std::set<Point> points;
  for (uint64_t i = 0; i < space.size(); ++i) points.insert(space.at(i));
  CHECK(points.size() == 100);
  for (uint64_t i = 0; i < space.size(); ++i) CHECK(space.index_of(space.at(i)) == i);
  auto grid = space.grid();
  REQUIRE(grid);
  CHECK(grid->size() == space.size());
  CHECK(space.at(37).at("BLOCK_K") == grid->axes()[2].values[grid->place(37, 2)]);
  CHECK_FALSE(space.index_of({{"BLOCK_M", 300}, {"BLOCK_N", 128}, {"BLOCK_K", 256}}));
  CHECK_FALSE(space.index_of({{"BLOCK_M", 128}}));
  std::vector<evolve::Parameter> many(20, {"A", std::vector<int64_t>(1000)});
  CHECK(Space::make(many, {})->size() == uint64_t{1} << 62);
}

TEST_CASE("a space is read from a spec.json, whatever its content is") {
  auto space = Space::from_spec_json(nlohmann::json::parse(
      R"({"parameters": [{"name": "A", "values": [1, 2]}], "constraints": ["A > 1"]})"));
  REQUIRE(space);
  CHECK(*space->allows({{"A", 2}}));
  CHECK_FALSE(*space->allows({{"A", 1}}));
  for (const char* text : {"[]", "{}", R"({"parameters": [1], "constraints": []})",
                           R"({"parameters": [{"name": "A", "values": ["x"]}], "constraints": []})",
                           R"({"parameters": [], "constraints": [1]})"}) {
    CHECK(Space::from_spec_json(nlohmann::json::parse(text)).error().code ==
          evolve::ErrorCode::external);
  }
}

namespace {

constexpr const char* kKernel =
    "BLOCK_M = 7  # outside\n"
    "# EVOLVE-BLOCK-START\n"
    "BLOCK_M = 512  # rows\n"
    "  BLOCK_N: int = 1_024\r\n"
    "BLOCK_MN = 3\n"
    "call(BLOCK_M=4, x=BLOCK_M == 5)\n"
    "# EVOLVE-BLOCK-END\n"
    "BLOCK_N = 9\n";

std::string mutation_error(const std::string& source) {
  auto result = read_parameters(source, {"A"});
  if (result) return "no error";
  CHECK(result.error().code == evolve::ErrorCode::bad_input);
  return result.error().message;
}

std::string block(const std::string& lines) {
  return "# EVOLVE-BLOCK-START\n" + lines + "# EVOLVE-BLOCK-END\n";
}

}  // namespace

TEST_CASE("parameters are read only from the EVOLVE block") {
  auto point = read_parameters(kKernel, {"BLOCK_M", "BLOCK_N"});
  REQUIRE(point);
  CHECK(*point == Point{{"BLOCK_M", 512}, {"BLOCK_N", 1024}});
}

TEST_CASE("a string literal has no parameters") {
  for (const std::string text : {
           R"(def f():
    """BLOCK
    BLOCK = 64
    """
BLOCK = 128
)",
           R"('''
BLOCK = 64
'''
BLOCK = 128
)",
           R"(# it's
BLOCK = 128
)",
           R"(A = 'it\'s\
BLOCK = 64'
BLOCK = 128
)",
           R"(A = '''a''' 'b'
BLOCK = 128
)",
           R"(A = r'''
\'''
BLOCK = 64
'''
BLOCK = 128
)"}) {
    CAPTURE(text);
    const std::string source = "# EVOLVE-BLOCK-START\n" + text + "# EVOLVE-BLOCK-END\n";
    auto point = read_parameters(source, {"BLOCK"});
    REQUIRE(point);
    CHECK(point->at("BLOCK") == 128);
  }
}

TEST_CASE("parameters are written in place, all else stays byte for byte") {
  auto source = write_parameters(kKernel, {{"BLOCK_M", 64}, {"BLOCK_N", 2048}});
  REQUIRE(source);
  CHECK(*source ==
        "BLOCK_M = 7  # outside\n"
        "# EVOLVE-BLOCK-START\n"
        "BLOCK_M = 64  # rows\n"
        "  BLOCK_N: int = 2048\r\n"
        "BLOCK_MN = 3\n"
        "call(BLOCK_M=4, x=BLOCK_M == 5)\n"
        "# EVOLVE-BLOCK-END\n"
        "BLOCK_N = 9\n");
  CHECK(*write_parameters(kKernel, {{"BLOCK_M", 512}, {"BLOCK_N", 1024}}) == kKernel);
}

TEST_CASE("an assignment is there exactly once and is a whole number") {
  CHECK(mutation_error(block("B = 1\n")) == "the EVOLVE block has no line 'A = <whole number>'");
  CHECK(mutation_error(block("A = 1\nA = 2\n")) == "the EVOLVE block assigns 'A' 2 times");
  CHECK(mutation_error(block("A = 4 * 2  # eight\n")) == "'A = 4 * 2': expected a whole number");
  CHECK(mutation_error(block("A =\n")) == "'A = ': expected a whole number");
  CHECK(mutation_error(block("A == 1\nA += 1\nAB = 1\n")) ==
        "the EVOLVE block has no line 'A = <whole number>'");
  CHECK(mutation_error(block("A = -8\n")) == "no error");
}

TEST_CASE("of several markers the last one counts") {
  CHECK(mutation_error("A = 1\n") == "no EVOLVE block: no line contains '# EVOLVE-BLOCK-START'");
  CHECK(mutation_error("# EVOLVE-BLOCK-START\nA = 1\n") ==
        "no EVOLVE block: no line contains '# EVOLVE-BLOCK-END'");
  CHECK(mutation_error("# EVOLVE-BLOCK-END\n# EVOLVE-BLOCK-START\nA = 1\n") ==
        "the EVOLVE block ends before it starts");
  CHECK(mutation_error(block("A = 1\n") + block("A = 2\n")) == "no error");
  CHECK(read_parameters(block("A = 1\n") + block("A = 2\n"), {"A"})->at("A") == 2);
  CHECK(mutation_error("# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END") ==
        "the EVOLVE block has no line 'A = <whole number>'");
}

TEST_CASE("a change names what differs") {
  CHECK(describe_change({{"A", 1}, {"B", 2}}, {{"A", 3}, {"B", 2}}) == "A 1 -> 3");
  CHECK(describe_change({{"A", 1}, {"B", 2}}, {{"A", 3}, {"B", 4}}) == "A 1 -> 3, B 2 -> 4");
  CHECK(describe_change({{"A", 1}}, {{"A", 1}}) == "no change");
}

TEST_CASE("sources that differ in parameters alone are the same without them") {
  auto rest = [](const std::string& lines) { return without_parameters(block(lines), {"M", "N"}); };
  CHECK(rest("M = 1\nN = 2\nx = 1\n") == rest("M = 128\nN = 2\nx = 1\n"));
  CHECK(rest("M = 1\nN = 2\nx = 1\n") != rest("M = 1\nN = 2\nx = 2\n"));
  // A block without one of the parameters is a different block. Its other parameters may still be
  // swept.
  CHECK(rest("M = 1\nx = 1\n") != rest("M = 1\nN = 2\nx = 1\n"));
  CHECK(rest("M = 1\nx = 1\n") == rest("M = 7\nx = 1\n"));
  // A canonical source has no markers.
  CHECK(without_parameters("M = 1\nx = 1\n", {"M"}) == "M = ?\nx = 1\n");
}
