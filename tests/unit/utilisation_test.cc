// Tests of the readers of libtpu's table of the units that a module's bundles use, of the profile
// of bundles, and of the fingerprints.
#include "engine/ir/readers/utilisation.h"

#include "engine/ir/readers/bundle_profile.h"
#include "engine/ir/readers/fingerprints.h"
#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

constexpr const char* kTable =
    "== CAPACTIY:\n"
    "MXU, XLU, VLOAD:FILL\n"
    "    2     3     1\n"
    "== UTILIZATION:\n"
    "0 1 0\n"
    "2 3 1\n"
    "2 0 0\n";

std::string utilisation_error(std::string_view text) {
  auto read = read_utilisation(text, "u");
  return read ? "" : read.error().message;
}

std::string profile_error(std::string_view text) {
  auto read = read_bundle_profile(text, "p");
  return read ? "" : read.error().message;
}

std::string fingerprints_error(std::string_view text) {
  auto read = read_fingerprints(text, "f");
  return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("a table of units adds up by unit") {
  auto table = read_utilisation(kTable, "u");
  REQUIRE(table);
  CHECK(table->bundles == 3);
  CHECK(table->line == 5);
  REQUIRE(table->units.size() == 3);
  CHECK(table->units[0].unit == "MXU");
  CHECK(table->units[0].capacity == 2);
  CHECK(table->units[0].used == 4);
  CHECK(table->units[1].used == 4);
  CHECK(table->units[2].unit == "VLOAD:FILL");
  CHECK(table->units[2].used == 1);
}

TEST_CASE("a table of units of another form is told with its line") {
  CHECK(utilisation_error("") == "u:1: the file ends within a line");
  CHECK(utilisation_error("0 1 2\n") == "u:1: expected '== CAPACTIY:'");
  CHECK(utilisation_error("== CAPACTIY:\n\n1\n") == "u:2: the names of units are missing");
  CHECK(utilisation_error("== CAPACTIY:\nMXU, XLU\n2\n") == "u:3: the number for XLU is missing");
  CHECK(utilisation_error("== CAPACTIY:\nMXU\n2\n0\n") == "u:4: expected '== UTILIZATION:'");
  CHECK(utilisation_error(std::string(kTable) + "1 1\n") ==
        "u:8: the number for VLOAD:FILL is missing");
  CHECK(utilisation_error(std::string(kTable) + "1 1 0 4\n") == "u:8: more numbers than 3 units");
  CHECK(utilisation_error(std::string(kTable) + "1 -1 0\n") ==
        "u:8: the number for XLU is missing");
  CHECK(utilisation_error(std::string(kTable) + "1 9000000000000000000 0\n") ==
        "u:8: the number for XLU is missing");
  CHECK(utilisation_error(std::string(kTable) + "1 1 0") == "u:8: the file ends within a line");
}

TEST_CASE("a profile counts by HLO instruction") {
  auto profile = read_bundle_profile(
      "HLO: <no-hlo-instruction>\n"
      " - VECTOR_ALU: (109/836) - 0.130383\n"
      "\n"
      "HLO: %gmm.1 = (bf16[8]{0}, u32[]) custom-call(%x), a=\"b - c: (1/2) - 3\"\n"
      " - MXU_0 matmul_packed: (32/299) - 0.107023\n"
      " - VMEM_SPILL_COUNT: (7/598) - 1e-05\n"
      "\n"
      "HLO: <no-hlo-instruction>\n"
      " - VECTOR_ALU: (5/836) - 0.005\n",
      "p");
  REQUIRE(profile);
  REQUIRE(profile->size() == 1);
  const InstructionProfile& gmm = profile->front();
  CHECK(gmm.instruction == "gmm.1");
  CHECK(gmm.line == 4);
  REQUIRE(gmm.counters.size() == 2);
  CHECK(gmm.counters[0].name == "MXU_0 matmul_packed");
  CHECK(gmm.counters[0].used == 32);
  CHECK(gmm.counters[0].available == 299);
  CHECK(gmm.counters[1].used == 7);
}

TEST_CASE("an attribute of an instruction in a profile may have line breaks") {
  auto profile = read_bundle_profile(
      "HLO: %gmm.1 = f32[] custom-call(%x), a=\"b\n\n0 0 1\"\n"
      " - MXU: (32/299) - 0.107023\n",
      "p");
  REQUIRE(profile);
  REQUIRE(profile->front().counters.size() == 1);
  CHECK(profile->front().counters[0].used == 32);
}

TEST_CASE("a profile of another form is told with its line") {
  CHECK(profile_error("HLO: %gmm.1") == "p:1: the file ends within a line");
  CHECK(profile_error("HLO: % = x\n") == "p:1: an HLO instruction has no name");
  CHECK(profile_error(" - MXU: (1/2) - 0.5\n") == "p:1: a counter belongs to no HLO instruction");
  CHECK(profile_error("HLO: %a = b\n - MXU: (1/) - 0\n") ==
        "p:2: a counter has no used and available values");
  CHECK(profile_error("HLO: %a = b\n - MXU: (1/2\n") ==
        "p:2: a counter has no used and available values");
  CHECK(profile_error("HLO: %a = b\n - MXU: (1/2) - 0.5\n0 0 1\n") ==
        "p:3: not a line of a profile");
}

TEST_CASE("modules have fingerprints") {
  auto modules = read_fingerprints(
      "mMry9/cv+00=:i=00000004:c=00000003:a=00000001:b=00000001 <late-finalization>\n"
      "D7LRejV0WXo=:i=0000de3e:c=00000a31:a=00000159:b=00000015 gmm.1\n",
      "f");
  REQUIRE(modules);
  REQUIRE(modules->size() == 1);
  CHECK(modules->front().module == "gmm.1");
  CHECK(modules->front().text == "D7LRejV0WXo=:i=0000de3e:c=00000a31:a=00000159:b=00000015");
  CHECK(modules->front().instructions == 56894);
  CHECK(modules->front().allocations == 345);
  CHECK(modules->front().line == 2);
}

TEST_CASE("fingerprints of another form are told with their line") {
  CHECK(fingerprints_error("D7=:i=1:c=2:a=3:b=4 gmm.1") == "f:1: the file ends within a line");
  CHECK(fingerprints_error("D7=:i=1:c=2:a=3:b=4 g\nD7=:i=1:c=2:a=3\n") ==
        "f:2: not the fingerprint of a module");
  CHECK(fingerprints_error("D7=:i=1:c=2:a=3:b=4\n") == "f:1: not the fingerprint of a module");
  CHECK(fingerprints_error("D7=:i=1:c=x:a=3:b=4 gmm.1\n") ==
        "f:1: not the fingerprint of a module");
}
