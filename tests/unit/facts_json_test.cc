// Tests of facts.json: facts that were read are written with the same bytes, and other forms are
// refused.
#include "engine/ir/facts_json.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/app/dump_reader.h"
#include "engine/ir/model/lost_time.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string written(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

// Returns the facts of the programs in the dumps of tests/data, except for those that the model
// cannot follow without operands.
std::vector<Facts> facts_of_dumps() {
  std::vector<Facts> out;
  const Device device = *find_device("tpu7x");
  for (const auto& entry : fs::directory_iterator(fs::path(EVOLVE_SOURCE) / "tests/data/dumps")) {
    if (!entry.is_directory()) continue;
    auto programs = read_programs_of({entry.path().string()});
    if (!programs) continue;
    for (const ReadProgram& program : *programs) {
      auto run = run_program(program.dumps, device);
      if (!run) continue;
      auto facts = facts_of(*run, program.dumps, {1e6, 3200}, device);
      REQUIRE(facts);
      out.push_back(*std::move(facts));
    }
  }
  return out;
}

// Returns the facts of a program of one module.
Facts small_facts() {
  Facts out;
  for (size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    out.by_cause.push_back({.cause = cause_name(cause), .what = cause_words(cause)});
  }
  static_cast<ExecutionFacts&>(out.kernels.emplace_back()) = out;
  out.kernels[0].name = "k.1";
  out.kernels[0].sections.resize(1);
  return out;
}

std::string error_of(const json& record) {
  auto facts = facts_from_json(record);
  return facts ? "" : facts.error().message;
}

}  // namespace

TEST_CASE("facts that are read are written with the same bytes") {
  const std::vector<Facts> all = facts_of_dumps();
  REQUIRE(all.size() >= 3);
  for (const Facts& facts : all) {
    const std::string text = written(to_json(facts));
    auto again = facts_from_json(json::parse(text));
    INFO((again ? "" : again.error().message));
    REQUIRE(again);
    CHECK(written(to_json(*again)) == text);
  }
}

TEST_CASE("a verdict, what is needed and what is not there are kept") {
  Facts facts = small_facts();
  facts.flaw = Flaw{"suspicious", "it did nothing"};
  facts.needed = NeededFacts{.flops = 4, .is_average = true};
  facts.modelled.low = NAN;
  facts.modelled.cheaper_seconds = 0.5;
  facts.on_data = {{"k.1", "line 3"}};
  facts.kernels[0].allocations.emplace();
  auto& traffic = facts.kernels[0].traffic;
  traffic.resize(2);
  traffic[0].operand = 2;
  traffic[0].kind = "input";
  traffic[0].shape = "f32[8]";
  const json record = to_json(facts);
  CHECK(record["verdict"] == "rejected");
  CHECK(record["kind"] == "suspicious");
  CHECK(record["vmem"]["allocated_bytes"].is_null());
  CHECK(record["kernels"][0]["allocations"] == json::array());
  CHECK(record["kernels"][0]["traffic"][1]["operand"].is_null());
  CHECK_FALSE(record["kernels"][0].contains("memory"));
  CHECK_FALSE(record["kernels"][0]["dma"].contains("minimum_bytes"));
  const std::string text = written(record);
  auto again = facts_from_json(json::parse(text));
  INFO((again ? "" : again.error().message));
  REQUIRE(again);
  CHECK(again->flaw->reason == "it did nothing");
  CHECK(written(to_json(*again)) == text);
}

TEST_CASE("a document that is not facts is refused") {
  const json good = to_json(small_facts());
  CHECK(error_of(good).empty());
  for (const char* pointer :
       {"/seconds", "/by_cause/0/what", "/kernels", "/kernels/0/name", "/kernels/0/times",
        "/kernels/0/sections/0/bundle", "/kernels/0/sections/0/opcodes", "/dma/load_bytes"}) {
    CAPTURE(pointer);
    json bad = good;
    bad[json::json_pointer(pointer)] = {{"x", json::array()}};
    CHECK_FALSE(error_of(bad).empty());
  }
  CHECK_FALSE(error_of(json::array()).empty());
  CHECK_FALSE(error_of({{"verdict", "not_reached"}}).empty());
  json bad = good;
  bad["kernels"][0]["sections"][0]["times"] = "3";
  CHECK(error_of(bad) ==
        "kernels[0].sections[0].times: it must be a whole number of at least 0, and it is a text");
  bad = good;
  bad["kernels"][0]["by_cause"].erase(7);
  CHECK(error_of(bad) == "kernels[0]: its causes are not those that the model knows");
}
