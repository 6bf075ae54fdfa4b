// Tests of libtpu's VMEM report: what is allocated, and how many blocks there is room for.
#include "engine/ir/readers/vmem_report.h"

#include <fmt/format.h>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

TEST_CASE("windows have room for a number of blocks") {
  auto report = read_vmem_report(
      R"(<script>const DATA ={"hlo_breakdowns": {"<top>": {}, "gmm.1": {"total_size": 3000000, "blocks": [
        {"allocations": [
          {"size": 1048576, "tag": "input window allocation for operator input 4. The window shape is bf16[512,512], while the full shape is bf16[4096,2048]. The u8"},
          {"size": 262144, "tag": "output window allocation for operator output 0. The window shape is f32[512,128], while"},
          {"size": 65536, "shape": "f32[2,4,16,128]", "tag": "scratch operand"}]},
        {"allocations": [{"size": 4096, "tag": "SPILL"}]}]}}};</script>)",
      "r");
  REQUIRE(report);
  REQUIRE(report->size() == 1);
  const ModuleMemory& gmm = report->front();
  CHECK(gmm.module == "gmm.1");
  CHECK(gmm.bytes == 3000000);
  REQUIRE(gmm.allocations.size() == 4);
  const auto& first = gmm.allocations[0].window;
  REQUIRE(first);
  CHECK_FALSE(first->is_output);
  CHECK(first->operand == 4);
  CHECK(first->shape == "bf16[512,512]");
  CHECK(first->buffers == 2);
  CHECK(gmm.allocations[0].tag == "input window allocation for operator input 4");
  REQUIRE(gmm.allocations[1].window);
  CHECK(gmm.allocations[1].window->is_output);
  CHECK(gmm.allocations[1].window->buffers == 1);
  CHECK_FALSE(gmm.allocations[2].window);
  CHECK(gmm.allocations[3].is_spill);
}

TEST_CASE("a report may be empty, cut off or of another form") {
  CHECK(read_vmem_report("<html>", "r")->empty());
  CHECK(read_vmem_report("const DATA ={\"hlo_bre", "r").error().message ==
        "r: the data does not end");
  CHECK(read_vmem_report("const DATA ={\"hlo_breakdowns\": {\"a\": 3}};", "r")
            .error()
            .message.starts_with("r: the data has an unknown form"));
  for (const char* size : {"1e90", "-1", "\"8\""}) {
    CAPTURE(size);
    auto report = ir::read_vmem_report(
        fmt::format(R"(const DATA = {{"hlo_breakdowns": {{"k": {{"total_size": {}}}}}}};)", size),
        "r");
    REQUIRE_FALSE(report);
    CHECK(report.error().message.starts_with("r: the data has an unknown form"));
  }
}

TEST_CASE("a shape has a number of bytes") {
  CHECK(shape_bytes("bf16[512,512]") == 524288);
  CHECK(shape_bytes("f32[]") == 4);
  CHECK(shape_bytes("s4[3]") == 1);
  CHECK_FALSE(shape_bytes("c64[2]"));
  CHECK_FALSE(shape_bytes("f32"));
  CHECK_FALSE(shape_bytes("f32[99999999999999]"));
}
