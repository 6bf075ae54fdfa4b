// Tests of XLA's own conditionals: which branches count.
#include "engine/ir/readers/hlo_branches.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "engine/ir/model/program.h"
#include "engine/ir/model/work.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve::ir;

namespace {

// Returns an HLO module with a conditional of three branches. The second branch has a conditional
// of its own.
std::string three_branches(std::string_view attributes =
                               "branch_computations={%first, %second, "
                               "%third}") {
  return fmt::format(R"(HloModule jit_f

%inner_yes (a.1: s32[8]) -> s32[8] {{
  %a.1 = s32[8] parameter(0)
  ROOT %long.1 = s32[8] add(%a.1, %a.1)
}}

%inner_no (a.2: s32[8]) -> s32[8] {{
  %a.2 = s32[8] parameter(0)
  ROOT %short.1 = s32[8] negate(%a.2)
}}

%first (a.3: s32[8]) -> s32[8] {{
  %a.3 = s32[8] parameter(0)
  ROOT %middle.1 = s32[8] multiply(%a.3, %a.3)
}}

%second (a.4: s32[8], p.4: pred[]) -> s32[8] {{
  %a.4 = s32[8] parameter(0)
  %p.4 = pred[] parameter(1)
  ROOT %inner = s32[8] conditional(%p.4, %a.4, %a.4), true_computation=%inner_yes, false_computation=%inner_no
}}

%third (a.5: s32[8]) -> s32[8] {{
  ROOT %a.5 = s32[8] parameter(0)
}}

ENTRY %main (x: s32[8], n: s32[]) -> s32[8] {{
  %x = s32[8] parameter(0)
  %n = s32[] parameter(1)
  %outer = s32[8] conditional(%n, %x, %x, %x), {}, metadata={{source_file="a/kernel.py" source_line=7}}
  ROOT %after.1 = s32[8] subtract(%outer, %outer)
}}
)",
                     attributes);
}

// Returns a top-level program that calls the modules of all branches. It does not show which of the
// branches is taken.
std::string calls(std::string_view opcode) {
  return fmt::format(
      " 0 : {{ %1 = inlined_call %s9_s9 /* %middle.1 = s32[8]{{0}} {0}(%a.3) */ }}\n"
      " 0x1 : {{ %2 = inlined_call %s9_s9 /* %long.1 = s32[8]{{0}} {0}(%a.1) */ }}\n"
      " 0x2 : {{ %3 = inlined_call %s9_s9 /* %short.1 = s32[8]{{0}} {0}(%a.2) */ }}\n"
      " 0x3 : {{ %4 = inlined_call %s9_s9 /* %after.1 = s32[8]{{0}} {0}(%outer) */ }}\n",
      opcode);
}

std::string bundles(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format(" {:#x} : {{}}\n", i);
  return out;
}

Dumps dumps_of(const std::string& hlo, std::string_view opcode = "add") {
  return {{"TLP/packed-bundles-post-ra.txt", calls(opcode)},
          {"TLP/hlo.txt", hlo},
          {"after.1/packed-bundles-post-ra.txt", bundles(1)},
          {"long.1/packed-bundles-post-ra.txt", bundles(90)},
          {"middle.1/packed-bundles-post-ra.txt", bundles(50)},
          {"short.1/packed-bundles-post-ra.txt", bundles(10)}};
}

using Times = std::map<std::string, std::array<uint64_t, 2>>;  // dearer side, cheaper side

Times times_of(const ProgramRun& run) {
  Times out;
  for (const KernelRun& one : run.kernels)
    out[one.name] = {one.times, one.cheaper_times.value_or(one.times)};
  return out;
}

}  // namespace

TEST_CASE("the dearer branch of a conditional counts, and the cheaper one is reported") {
  auto run = run_program(dumps_of(three_branches()), kToy);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  CHECK(times_of(*run) == Times{{"TLP", {1, 1}},
                                {"after.1", {1, 1}},
                                {"long.1", {1, 0}},
                                {"middle.1", {0, 0}},
                                {"short.1", {0, 0}}});
  CHECK(
      run->kernels.front().on_data ==
      std::vector<std::string>{"the conditional 'outer' (kernel.py:7)", "the conditional 'inner'"});

  // Without the empty branch, each side takes another branch of the inner conditional.
  run = run_program(dumps_of(three_branches("branch_computations={%first, %second}")), kToy);
  REQUIRE(run);
  CHECK(times_of(*run) == Times{{"TLP", {1, 1}},
                                {"after.1", {1, 1}},
                                {"long.1", {1, 0}},
                                {"middle.1", {0, 0}},
                                {"short.1", {0, 1}}});
  run = run_program(dumps_of(three_branches("true_computation=%third, false_computation=%first")),
                    kToy);
  REQUIRE(run);
  CHECK(times_of(*run)["middle.1"] == std::array<uint64_t, 2>{1, 0});
}

TEST_CASE("modules that are compiled once count on the side of each call") {
  std::string hlo = three_branches();
  const std::string middle = "multiply(%a.3, %a.3)";
  hlo.replace(hlo.find(middle), middle.size(), "negate(%a.3)");
  Dumps dumps = dumps_of(hlo);
  dumps.erase("middle.1/packed-bundles-post-ra.txt");  // compiled as short.1
  auto run = run_program(dumps, kToy);
  REQUIRE(run);
  CHECK(times_of(*run)["short.1"] == std::array<uint64_t, 2>{0, 0});
  CHECK(times_of(*run)["long.1"] == std::array<uint64_t, 2>{1, 0});
}

TEST_CASE("work in a conditional is not certain to be done") {
  std::string hlo = three_branches();
  const std::string add = "add(%a.1, %a.1)";
  hlo.replace(hlo.find(add), add.size(),
              R"(custom-call(%a.1), custom_call_target="tpu_custom_call")");
  Dumps dumps = dumps_of(hlo, "custom-call");
  dumps["long.1/packed-bundles-post-ra.txt"] =
      " 0 : { %v1_v0 = vadd.f32 %v0_v0, %v0_v0 }\n" + bundles(90).substr(bundles(1).size());
  auto run = run_program(dumps, kToy);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  CHECK(run->not_modelled.empty());
  const Work work = work_of(*run, kToy);
  CHECK(work.vector_flops == 1024);
  CHECK(work.uncertain_flops == 1024);
  CHECK(work.guard == "long.1: it is in the conditional 'inner'");
}
