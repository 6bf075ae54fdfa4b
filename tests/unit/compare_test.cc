// Tests of the comparison of two programs: all parts add up to the whole.
#include "engine/ir/compare.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace evolve;
using nlohmann::json;

namespace {

json section(uint64_t bundle, double seconds, const json& opcodes) {
  return {{"bundle", bundle},
          {"bundles", 10U},
          {"line", bundle},
          {"times", 1U},
          {"opcodes", opcodes},
          {"seconds", seconds},
          {"by_cause", json::object()},
          {"source", json::array()}};
}

// Returns the facts of a program of one module, which runs twice.
json facts(const std::string& name, double seconds, const json& sections) {
  json out = json::parse(R"({"dma": {"load_bytes": 1, "store_bytes": 1, "loads": 1, "stores": 1},
    "steps": 1, "matmuls": 1, "bundles": {"executed": 1, "empty": 1, "static": 1},
    "spills": {"stores_executed": 1, "loads_executed": 1},
    "vmem": {"allocated_bytes": 1, "spilled_bytes": 1}})");
  out["target"] = "tpu7x";
  out["seconds"] = 2 * seconds;
  out["by_cause"] = json::array({{{"cause", "mxu"}, {"what", "m"}, {"seconds", 2 * seconds}}});
  out["kernels"] =
      json::array({{{"name", name}, {"times", 2}, {"seconds", seconds}, {"sections", sections}}});
  return out;
}

json matmul() {
  return {{"vmatmul", 100U}, {"vld", 50U}};
}
json more_matmul() {
  return {{"vmatmul", 800U}, {"vld", 410U}};
}
json softmax() {
  return {{"vpow2", 30U}, {"vadd", 90U}, {"vld", 10U}};
}
json scale() {
  return {{"vmul", 70U}, {"vst", 70U}};
}

json compare(const json& before, const json& after) {
  auto found = ir::compare_facts(before, after);
  INFO((found ? "" : found.error().message));
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("sections are paired by what they do, in order, and add up to the whole") {
  json before = facts("k.1", 10, {section(0, 4, matmul()), section(20, 3, softmax())});
  json after =
      facts("k.7", 9.5,
            {section(0, 1, scale()), section(30, 6, more_matmul()), section(90, 2, softmax())});
  json found = compare(before, after);
  std::map<std::pair<int, int>, double> differences;
  double sum = 0;
  for (const json& one : found["sections"]) {
    auto bundle = [&](int side) {
      return one["sections"][side].is_null() ? -1 : one["sections"][side]["bundle"].get<int>();
    };
    if (one["module"] != "") differences[{bundle(0), bundle(1)}] = one["difference"];
    sum += one["difference"].get<double>();
  }
  // By the bundles before and after; -1: no section on that side. The module runs twice.
  CHECK(differences == std::map<std::pair<int, int>, double>{
                           {{0, 30}, 4}, {{20, 90}, -2}, {{-1, 0}, 2}, {{-1, -1}, -5}});
  CHECK(sum == found["difference"]);
}

TEST_CASE("sections that changed places are not the same") {
  json before = facts("k.1", 5, {section(0, 2, matmul()), section(20, 3, softmax())});
  json after = facts("k.1", 5, {section(0, 3, softmax()), section(20, 2, matmul())});
  size_t pairs = 0;
  json found = compare(before, after);
  for (const json& one : found["sections"])
    pairs += one["sections"][0].is_null() || one["sections"][1].is_null() ? 0 : 1;
  CHECK(pairs == 1);
}

TEST_CASE("modules of other names have no sections in common") {
  json found = compare(facts("k.1", 1, {section(0, 1, matmul())}),
                       facts("other.1", 1, {section(0, 1, matmul())}));
  REQUIRE(found["sections"].size() == 1);
  CHECK(found["sections"][0]["seconds"] == found["seconds"]);
}

TEST_CASE("what is no facts is refused") {
  const json good = facts("k.1", 1, {section(0, 1, matmul())});
  for (const char* pointer :
       {"/seconds", "/by_cause/0/what", "/kernels", "/kernels/0/name", "/kernels/0/times",
        "/kernels/0/sections/0/bundle", "/kernels/0/sections/0/opcodes", "/dma/load_bytes"}) {
    CAPTURE(pointer);
    json bad = good;
    bad[json::json_pointer(pointer)] = {{"x", json::array()}};
    CHECK_FALSE(ir::compare_facts(bad, good));
    CHECK_FALSE(ir::compare_facts(good, bad));
  }
  CHECK_FALSE(ir::compare_facts(json::array(), good));
}
