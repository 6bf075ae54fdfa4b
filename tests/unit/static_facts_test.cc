// Tests of the facts that libtpu's other dumps add to a kernel's facts, if these dumps exist.
#include "engine/ir/static_facts.h"

#include <nlohmann/json.hpp>

#include "engine/ir/facts_json.h"
#include "engine/ir/readers/bundle_profile.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;
using nlohmann::json;

namespace {

constexpr const char* kSchedule =
    " 0 : { /* Start region 0 */ %1 = vnop }\n"
    " 0x1 : { /* Start region 1 */ }\n"
    " 0x2 : {}\n"
    "/* End region 0 :: End region 1 */\n";

// Returns the kernel's schedule and these dumps.
Dumps with(const Dumps& more) {
  Dumps all = {{"k.1/packed-bundles-post-ra.txt", kSchedule}};
  all.insert(more.begin(), more.end());
  return all;
}

Result<json> facts_of(const Dumps& dumps) {
  const Device device = *find_device("tpu7x");
  auto run = run_program(dumps, device);
  REQUIRE(run);
  auto facts = ir::facts_of(*run, dumps, {}, device);
  REQUIRE(facts);
  return to_json(*facts);
}

}  // namespace

TEST_CASE("a kernel's memory and how long it lives") {
  auto facts = facts_of(
      with({{"k.1/post-delay-converter.txt",
             "$region0: #{k.1}\n"
             "  #allocation1 [shape = 'f32[8,128]{1,0}', space=vmem, size = 0x1000, offset = "
             "0x10, scoped, tag = 'scratch operand']\n"
             "  $region1: #{k.1} parent=0 // pred_region\n"
             "    #allocation2_spill [shape = 'u32[8,128]', space=vmem, size = 0x800, offset = "
             "0x1010, scoped, tag = 'spilled vreg/vmreg']\n"
             "    %1 = vst [vmem:[#allocation2_spill]] %v1_v1\n"
             "  $region2: #{k.1} parent=0\n"
             "    #allocation3 [space=smem, size = 4, fixed_abs, tag = 'core index']\n"}}));
  REQUIRE(facts);
  const json& kernel = (*facts)["kernels"][0];
  CHECK(kernel["allocations"][0] == json{{"space", "vmem"},
                                         {"bytes", 4096},
                                         {"offset", 16},
                                         {"shape", "f32[8,128]{1,0}"},
                                         {"tag", "scratch operand"},
                                         {"spill", false},
                                         {"line", 2},
                                         {"live", {0, 2}}});
  CHECK(kernel["allocations"][1]["live"] == json{1, 2});
  CHECK(kernel["allocations"][1]["spill"] == true);
  // The schedule lacks the region of the allocation, so its lifetime is not known.
  CHECK_FALSE(kernel["allocations"][2].contains("live"));
  CHECK(kernel["allocations"][2]["fixed"] == true);
  CHECK(kernel["memory"] ==
        json{{"vmem", {{"bytes", 6144}, {"peak_live_bytes", 6144}, {"spilled_bytes", 2048}}}});
  CHECK(kernel["static_counts"]["spills"] == json{{"vst", 1}});
  CHECK(kernel["sources"]["allocations"]["file"] == "k.1/post-delay-converter.txt");
  CHECK(kernel["sources"]["live"]["file"] == "k.1/packed-bundles-post-ra.txt");
}

TEST_CASE("a kernel's units, profile and fingerprint") {
  auto facts = facts_of(with(
      {{"k.1/final_hlo-static-per-bundle-utilization.txt",
        "== CAPACTIY:\nMXU, XLU\n2 3\n== UTILIZATION:\n0 1\n2 0\n"},
       {"TLP/all-fingerprints.txt", "D7=:i=1:c=2:a=3:b=4 k.0\nD8=:i=1:c=2:a=3:b=4 k.1\n"},
       {"TLP/hlo-static-bundle-profile.txt", "HLO: %k.1 = f32[]\n - XLU_0 rpu: (1/3) - 0.3\n"}}));
  REQUIRE(facts);
  const json& kernel = (*facts)["kernels"][0];
  CHECK(kernel["static_utilisation"] ==
        json{{"MXU", {{"used", 2}, {"available", 4}}}, {"XLU", {{"used", 1}, {"available", 6}}}});
  CHECK(kernel["fingerprint"] == "D8=:i=1:c=2:a=3:b=4");
  CHECK(kernel["bundle_profile"] == json{{"XLU_0 rpu", {{"used", 1}, {"available", 3}}}});
  CHECK(kernel["sources"]["fingerprint"] ==
        json{{"file", "TLP/all-fingerprints.txt"}, {"line", 2}});
}

TEST_CASE("what the dumps do not have is not in the facts") {
  auto facts = facts_of(with({}));
  REQUIRE(facts);
  for (const char* key : {"allocations", "memory", "static_counts", "static_utilisation",
                          "fingerprint", "bundle_profile", "sources"}) {
    CAPTURE(key);
    CHECK_FALSE((*facts)["kernels"][0].contains(key));
  }
}

TEST_CASE("a pass that is not as long as its fingerprint says is not believed") {
  auto facts = facts_of(with({{"k.1/post-delay-converter.txt", "$region0: #{k.1}\n  %1 = vnop\n"},
                              {"TLP/all-fingerprints.txt", "D8=:i=2:c=0:a=0:b=1 k.1\n"}}));
  REQUIRE(facts);
  CHECK((*facts)["unread"] == json{"k.1/post-delay-converter.txt: has 1 instructions and 0 "
                                   "allocations, but its fingerprint says 2 and 0"});
  CHECK_FALSE((*facts)["kernels"][0].contains("allocations"));
}

TEST_CASE("a dump of another form is left out, and the report names it") {
  for (const char* dump :
       {"k.1/post-delay-converter.txt", "k.1/final_hlo-static-per-bundle-utilization.txt",
        "TLP/all-fingerprints.txt", "TLP/hlo-static-bundle-profile.txt"}) {
    CAPTURE(dump);
    auto facts = facts_of(with({{dump, "it was cut"}}));
    REQUIRE(facts);
    REQUIRE((*facts)["unread"].size() == 1);
    CHECK((*facts)["unread"][0].get<std::string>().starts_with(std::string(dump) + ":1: "));
    CHECK((*facts)["modelled"] == (*facts_of(with({})))["modelled"]);
  }
  auto facts = facts_of(with({{"TLP/vmem_report.html", "const DATA = {\"it was cut"}}));
  REQUIRE(facts);
  CHECK((*facts)["unread"] == json{"TLP/vmem_report.html: the data does not end"});
  CHECK((*facts)["vmem"]["allocated_bytes"].is_null());
  CHECK((*facts)["signals"]["vmem_utilization_pct"].is_null());
}

TEST_CASE("a line break in an attribute ends no instruction of a profile") {
  auto profile = read_bundle_profile(
      "HLO: %k.1 = f32[8] custom-call(%a), backend_config={\"name\": \"a\n- b\"}\n"
      " - XLU_0 rpu: (1/3) - 0.333333\n",
      "p");
  REQUIRE(profile);
  REQUIRE(profile->size() == 1);
  CHECK(profile->front().counters.size() == 1);
}
