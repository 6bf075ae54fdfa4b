// Tests of sketches of programs, and of the distance between two of them.
#include "engine/search/history/sketch.h"

#include <fmt/format.h>

#include "tests/catch.h"

using namespace evolve::search;
using nlohmann::json;

namespace {

const json kFloats = json::parse(R"(["aval", ["tuple", 8, 128], ["dtype", "float32"], false])");

json operation(const std::string& name, const json& operands, int result,
               const json& params = json::object()) {
  return {{"primitive", name},
          {"invars", operands},
          {"outvars", json::array({result})},
          {"params", params}};
}

json body(const json& arguments, const json& operations, const json& results) {
  return {{"constvars", json::array()},
          {"invars", arguments},
          {"eqns", operations},
          {"outvars", results}};
}

// Returns a document with these bodies; the last body is the program.
json document(const json& bodies) {
  json types = json::array();
  for (int i = 0; i < 20; ++i) types.push_back(kFloats);
  const json out = {{"vars", types}, {"jaxprs", bodies}, {"consts", json::array()}};
  return json::parse(out.dump());  // the form that a reader gives
}

Sketch sketch(const json& program) {
  auto out = sketch_of(document(json::array({program})));
  REQUIRE(out);
  return *out;
}

// Returns a program f(x, y) of these operations. REQUIRES: the last result has the number 9.
json program_of(const std::vector<json>& operations) {
  return body({0, 1}, operations, json::array({9}));
}

json loop(const std::string& step, int length, bool has_advice = false) {
  const json inner = body({3}, json::array({operation(step, {3, 3}, 4)}), json::array({4}));
  json params = {{"jaxpr", json::array({"closed", 0, json::array()})}, {"length", length}};
  if (has_advice) params["cost_estimate"] = 7;
  const json outer = program_of({operation("mul", {0, 1}, 5), operation("scan", {5}, 9, params)});
  return document(json::array({inner, outer}));
}

}  // namespace

TEST_CASE("names and the order of independent operations make no difference") {
  const Sketch one = sketch(program_of(
      {operation("exp", {0}, 2), operation("sin", {1}, 3), operation("sub", {2, 3}, 9)}));
  CHECK(one == sketch(program_of({operation("sin", {1}, 7), operation("exp", {0}, 4),
                                  operation("sub", {4, 7}, 9)})));
  CHECK(distance(one, one) == 0);
  // With its operands swapped, only `sub` differs: 1 of each program's 7 features, so 2 of 8 in
  // all.
  const Sketch other = sketch(program_of(
      {operation("exp", {0}, 2), operation("sin", {1}, 3), operation("sub", {3, 2}, 9)}));
  CHECK(distance(one, other) == Approx(2.0 / 8));
  CHECK(distance(one, other) == distance(other, one));
  const Sketch third = sketch(program_of({operation("max", {0, 1}, 9)}));
  CHECK(distance(one, third) == 1);
}

TEST_CASE("what is done twice counts twice") {
  const json exp = operation("exp", {0}, 2);
  const Sketch once = sketch(program_of({exp, operation("neg", {2}, 9)}));
  const Sketch twice = sketch(program_of({exp, exp, operation("neg", {2}, 9)}));
  CHECK(distance(once, twice) == Approx(2.0 / 7));
}

TEST_CASE("a call counts as its body, and a literal as its value") {
  const json call = operation("jit", {0, 1}, 9, {{"jaxpr", {"closed", 0, json::array()}}});
  const json inner = body({5, 6}, json::array({operation("add", {5, 6}, 7)}), json::array({7}));
  const auto called = sketch_of(document(json::array({inner, program_of({call})})));
  REQUIRE(called);
  CHECK(*called == sketch(program_of({operation("add", {0, 1}, 9)})));
  auto scaled = [](double by) {
    return sketch(
        program_of({operation("mul", json::array({0, json::array({"literal", by, kFloats})}), 9)}));
  };
  CHECK(scaled(2) == scaled(2));
  CHECK(distance(scaled(2), scaled(3)) > 0);
}

TEST_CASE("loops of other lengths are other points of the search, whatever is in them") {
  const Sketch one = *sketch_of(loop("add", 4));
  CHECK(distance(one, *sketch_of(loop("add", 5))) == 1);
  CHECK(distance(one, *sketch_of(loop("add", 4, true))) == 0);
  const double other = distance(one, *sketch_of(loop("max", 4)));
  CHECK(other > 0);
  CHECK(other < 1);
}

TEST_CASE("the blocks of a kernel and what its index maps say are its frame") {
  auto kernel = [](int block, const json& at) {
    const json map = body({12, 13}, json::array(), at);
    const json block_mapping =
        json::array({"record", "BlockMapping",
                     json::array({json::array({"block_shape", json::array({"tuple", block})}),
                                  json::array({"index_map_jaxpr", {"closed", 0, json::array()}}),
                                  json::array({"origin", fmt::format("args[{}]", at.dump())})})});
    const json inner = body({14}, json::array({operation("exp", {14}, 15)}), json::array());
    const json call = operation("pallas_call", {0}, 9,
                                {{"grid_mapping", json::array({"tuple", block_mapping})},
                                 {"jaxpr", json::array({"jaxpr", 1})}});
    auto out = sketch_of(document(json::array({map, inner, program_of({call})})));
    REQUIRE(out);
    return *out;
  };
  const json in_order = {12, 13}, swapped = {13, 12};
  CHECK(kernel(8, in_order) == kernel(8, in_order));
  CHECK(distance(kernel(8, in_order), kernel(16, in_order)) == 1);
  CHECK(distance(kernel(8, in_order), kernel(8, swapped)) == 1);
}

TEST_CASE("an endless program has no sketch, and a document that is not a program has none") {
  json bodies = json::array({body({2}, json::array({operation("exp", {2}, 3)}), json::array({3}))});
  for (int i = 0; i < 60; ++i) {
    const json params = {{"jaxpr", {"closed", i, json::array()}}};
    bodies.push_back(body({2}, {operation("jit", {2}, 3, params), operation("jit", {3}, 4, params)},
                          json::array({4})));
  }
  CHECK_FALSE(sketch_of(document(bodies)));
  const json params = {{"jaxpr", {"closed", 0, json::array()}}};
  CHECK_FALSE(sketch_of(document(json::array(
      {body({2}, json::array({operation("jit", {2}, 3, params)}), json::array({3}))}))));
  for (const char* text : {"{}", "[]", "3", R"({"jaxprs": []})"}) {
    INFO(text);
    CHECK_FALSE(sketch_of(json::parse(text)));
  }
  CHECK(sketch_of(json::parse(R"({"jaxprs": [{"eqns": [3, "x", {"invars": [[1, 2]]}]}]})")));
}

TEST_CASE("a program that contains itself, or would be endless, is refused") {
  // An index map has maps as its arguments: here itself, and below twice the next map.
  auto in_map = [](size_t number) {
    return json{"record", "BlockMapping", json::array({json{"jaxpr", number, 0}})};
  };
  const json called = {{"grid_mapping", in_map(0)}};
  const json caller = body({2}, json::array({operation("pallas_call", {2}, 3, called)}), {3});
  json itself = body(json::array({json{"jaxpr", 0, 0}}), json::array(), json::array());
  CHECK_FALSE(sketch_of(document(json::array({itself, caller}))));
  json bodies = json::array();
  for (size_t i = 0; i < 60; ++i) {
    const json next = {"jaxpr", i + 1, 0};
    bodies.push_back(body(json::array({next, next}), json::array(), json::array()));
  }
  bodies.push_back(body(json::array(), json::array(), json::array()));
  bodies.push_back(caller);
  CHECK_FALSE(sketch_of(document(bodies)));
}

TEST_CASE("of large programs the distance is estimated") {
  auto large = [](int changed) {
    std::vector<json> operations;
    for (int i = 0; i < 3000; ++i)
      operations.push_back(operation("mul", {0, 1}, 2, {{"n", i < changed ? -i - 1 : i}}));
    return sketch(program_of(operations));
  };
  const Sketch whole = large(0);
  CHECK(whole.features.size() == kMostFeatures);
  CHECK(distance(whole, large(0)) == 0);
  CHECK(distance(whole, large(150)) == Approx(2 * 150.0 / 3150).margin(0.03));
  CHECK(distance(whole, large(3000)) > 0.99);
  CHECK(distance(whole, sketch(program_of({operation("mul", {0, 1}, 9)}))) > 0.99);
}

TEST_CASE("a sketch is read as it was written, and what is none is told") {
  const Sketch one = sketch(program_of({operation("exp", {0}, 9)}));
  auto read = read_sketch(sketch_record(one));
  REQUIRE(read);
  CHECK(*read == one);
  for (const char* text :
       {"{}", R"({"frame": "a"})", R"({"frame": "a", "features": ["x"]})",
        R"({"frame": "a", "features": ["02", "01"]})", R"({"frame": "a", "features": [1]})",
        R"({"frame": "", "features": []})"}) {
    INFO(text);
    CHECK_FALSE(read_sketch(json::parse(text)));
  }
}
