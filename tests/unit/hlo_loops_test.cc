// Tests of XLA's own loops: how often they run.
#include "engine/ir/readers/hlo_loops.h"

#include <fmt/format.h>

#include "engine/ir/model/program.h"
#include "tests/catch.h"
#include "tests/toy_device.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

// Returns a module with a loop in a loop; the instruction `%inner.1` is in both loops.
std::string text_of(const char* begin, const char* step, const char* test) {
  return fmt::format(R"(HloModule jit_f

%before_inner (t.1: (s32[], s32[8])) -> pred[] {{
  %t.1 = (s32[], s32[8]) parameter(0)
  %limit.1 = s32[] constant(5)
  %at.1 = s32[] get-tuple-element(%t.1), index=0
  ROOT %less.1 = pred[] compare(%at.1, %limit.1), direction=LT
}}

%inner (t.2: (s32[], s32[8])) -> (s32[], s32[8]) {{
  %t.2 = (s32[], s32[8]) parameter(0)
  %at.2 = s32[] get-tuple-element(%t.2), index=0
  %values.2 = s32[8] get-tuple-element(%t.2), index=1
  %two.2 = s32[] constant(2)
  %next.2 = s32[] add(%at.2, %two.2)
  %inner.1 = s32[8] add(%values.2, %values.2)
  ROOT %tuple.2 = (s32[], s32[8]) tuple(%next.2, %inner.1)
}}

%before_outer (t.3: (s32[8], s32[])) -> pred[] {{
  %t.3 = (s32[8], s32[]) parameter(0)
  %limit.3 = s32[] constant(10)
  %at.3 = s32[] get-tuple-element(%t.3), index=1
  ROOT %less.3 = pred[] compare(%at.3, %limit.3), direction={2}
}}

%outer (t.4: (s32[8], s32[])) -> (s32[8], s32[]) {{
  %t.4 = (s32[8], s32[]) parameter(0)
  %values.4 = s32[8] get-tuple-element(%t.4), index=0
  %at.4 = s32[] get-tuple-element(%t.4), index=1
  %step.4 = s32[] {1}
  %next.4 = s32[] add(%step.4, %at.4)
  %none.4 = s32[] constant(1)
  %first.4 = s32[] copy(%none.4)
  %start.4 = (s32[], s32[8]) tuple(%first.4, %values.4)
  %loop.4 = (s32[], s32[8]) while(%start.4), condition=%before_inner, body=%inner
  %outer.1 = s32[8] get-tuple-element(%loop.4), index=1
  ROOT %tuple.4 = (s32[8], s32[]) tuple(%outer.1, %next.4)
}}

ENTRY %main (x: s32[8], n: s32[]) -> s32[8] {{
  %x = s32[8] parameter(0)
  %n = s32[] parameter(1)
  %begin = s32[] {0}
  %start = (s32[8], s32[]) tuple(%x, %begin)
  %loop = (s32[8], s32[]) while(%start), condition=%before_outer, body=%outer
  ROOT %result = s32[8] get-tuple-element(%loop), index=0
}}
)",
                     begin, step, test);
}

std::optional<uint64_t> passes(const std::string& text, const std::string& name) {
  auto module = parse_hlo(text, "toy");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  auto passes = HloLoops(*module).passes_of(name);
  return passes ? std::optional(*passes) : std::nullopt;
}

}  // namespace

TEST_CASE("a loop from one constant to another has a known number of passes") {
  const std::string text = text_of("constant(1)", "constant(3)", "LT");
  CHECK(passes(text, "result") == 1);
  CHECK(passes(text, "outer.1") == 3);      // 1, 4, 7
  CHECK(passes(text, "inner.1") == 3 * 2);  // 1, 3
  CHECK(passes(text_of("constant(10)", "constant(3)", "LT"), "inner.1") == 0);
  CHECK_FALSE(passes(text, "nowhere"));
}

TEST_CASE("other loops have an unknown number of passes") {
  for (const std::string& text :
       {text_of("copy(%n)", "constant(3)", "LT"), text_of("constant(1)", "copy(%at.4)", "LT"),
        text_of("constant(1)", "constant(0)", "LT"),
        text_of("constant(-2000000000)", "constant(1)", "LT"),
        text_of("constant(1)", "constant(3)", "NE")}) {
    CHECK_FALSE(passes(text, "outer.1"));
    CHECK_FALSE(passes(text, "inner.1"));
    CHECK(passes(text, "result") == 1);
  }
}

TEST_CASE("the step is that of the counter itself, and not of another growing value") {
  // Returns `text` with the first `from` in it replaced by `to`.
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string counts = text_of("constant(1)", "constant(3)", "LT");
  const auto why = [](const std::string& text) {
    auto module = parse_hlo(text, "toy");
    REQUIRE(module);
    auto passes = HloLoops(*module).passes_of("inner.1");
    return passes ? "known" : passes.error().message;
  };
  CHECK(why(counts) == "known");
  const std::string swapped =
      "the number of passes of the loop 'loop.4' is unknown: its body does not only add a constant "
      "to its counter, element 0";
  // The sum adds to element 2 of the tuple, but the counter is element 0.
  CHECK(why(replaced(counts, "%at.2 = s32[] get-tuple-element(%t.2), index=0",
                     "%at.2 = s32[] get-tuple-element(%t.2), index=2")) == swapped);
  // The sum adds to a value that is not an element of the loop's tuple.
  CHECK(why(replaced(counts, "add(%at.2, %two.2)", "add(%inner.1, %two.2)")) == swapped);
  // The condition must read its own tuple, not a tuple of another computation.
  CHECK(why(replaced(counts, "get-tuple-element(%t.1), index=0",
                     "get-tuple-element(%t.2), index=0")) ==
        "the number of passes of the loop 'loop.4' is unknown: its condition does not compare an "
        "element of its tuple with a constant");
}

TEST_CASE("a counter may go down, and stop at its limit or behind it") {
  const auto down = [](const char* limit, const char* test) {
    std::string text = text_of("constant(10)", "constant(-3)", test);
    const size_t at = text.find("%limit.3 = s32[] constant(10)");
    return text.replace(at, 29, fmt::format("%limit.3 = s32[] constant({})", limit));
  };
  CHECK(passes(down("1", "GT"), "outer.1") == 3);  // 10, 7, 4
  CHECK(passes(down("1", "GE"), "outer.1") == 4);
  CHECK_FALSE(passes(down("1", "LE"), "outer.1").value_or(0) != 0);
  CHECK(passes(text_of("constant(1)", "constant(3)", "LE"), "outer.1") == 4);  // 1, 4, 7, 10
  CHECK_FALSE(passes(text_of("constant(1)", "constant(3)", "GT"), "outer.1").value_or(0) != 0);
  // The first counter never reaches its limit; the second would leave the range of its type.
  CHECK_FALSE(passes(text_of("constant(1)", "constant(-3)", "LT"), "outer.1"));
  CHECK_FALSE(passes(down("-2147483648", "GE"), "outer.1"));
}

TEST_CASE("what a loop of XLA's own calls counts for each pass") {
  // The schedule of the top-level program does not show how often the loop runs, because the loop's
  // test reads a value from memory.
  Dumps dumps = {{"TLP/packed-bundles-post-ra.txt",
                  " 0 LB: > { %5 = inlined_call %s9_s9 /* %inner.1 = s32[8]{0} add(%values.2, "
                  "%values.2) */ ;; %s1_s0 = sld [smem:[#allocation1]] }\n"
                  " 0x1 : { %p4_p0 = scmp.lt.s32.totalorder %s1_s0, 3 }\n"
                  " 0x2 : { %6 = sbr.rel (%p4_p0) target bundleno = 0 (0x0) }\n"
                  " 0x3 : {}\n 0x4 : {}\n"},
                 {"TLP/hlo.txt", text_of("constant(1)", "constant(3)", "LT")},
                 {"inner.1/packed-bundles-post-ra.txt", " 0 : {}\n 0x1 : {}\n"}};
  auto run = run_program(dumps, kToy);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  REQUIRE(run->kernels.size() == 2);
  CHECK(run->kernels[1].times == 6);
  CHECK(run->not_modelled.empty());

  dumps["TLP/hlo.txt"] = text_of("copy(%n)", "constant(3)", "LT");
  run = run_program(dumps, kToy);
  REQUIRE(run);
  CHECK(run->not_modelled.at("inner.1") ==
        "line 3: the number of passes of the loop 'loop' is unknown: its counter, element 1, does "
        "not start at a constant");
}
