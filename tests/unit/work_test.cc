// Tests of the comparison of a kernel's work and transfers with the needs of its case.
#include "engine/ir/model/work.h"

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;
using nlohmann::json;

namespace {

const Device device = *find_device("tpu7x");
constexpr double kPush = 2.0 * 16 * 256 * 256;

// A kernel with two pushes of bf16, one of which runs only if a word of operand 0 is zero, and two
// instructions of the vector units. It loads 1,600 bytes and stores 3,200.
constexpr const char* kGuardedText =
    " 0 : { %s1_s0 = inlined_call_operand.<no memory space> [shape: s32[], index: 0, kind: input] "
    "}\n"
    " 0x1 : { %p2_p0 = scmp.eq.s32.totalorder %s1_s0, 0 ;; %3 = dma.hbm_to_vmem 0, 50, 0, "
    "[#allocation1] ;; %4 = vmatmul.mubr.bf16.gmra.mrb[0].mxu0 %v1_v1 }\n"
    " 0x2 : { %5 = vmatmul.mubr.bf16.gmra.mrb[0].mxu1 (%p2_p0), %v1_v1 ;; %6 = vadd.f32 %v1_v1, "
    "%v2_v2 ;; %7 = vmul.bf16 %v1_v1, %v2_v2 }\n"
    " 0x3 : { %8 = dma.done.wait [#allocation1], 50 ;; %9 = dma.vmem_to_hbm 0, 100, 0, "
    "[#allocation2] }\n";

Work guarded(const ProgramInput& input) {
  auto run = run_program({{"k.1/packed-bundles-post-ra.txt", kGuardedText}}, device, input);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  return work_of(*run, device);
}

ProgramInput given(double value) {
  return {{{"", {{1, {{0, {value}}}}}}}};
}

Needs needs(double flops, double bytes, double output_bytes) {
  Needs out;
  out.flops = flops;
  out.bytes = bytes;
  out.output_bytes = output_bytes;
  out.share = 0.75;
  return out;
}

// Returns the flaw of a program that runs for one second.
std::string flaw(const Work& work, const Needs& of) {
  const auto found = flaw_of(work, 1.0, of, device);
  return found ? found->kind + ": " + found->reason : "";
}

}  // namespace

TEST_CASE("work is what was executed, at the most that it can have been") {
  const Work all = guarded(given(0));
  CHECK(all.matrix_flops == 2 * kPush);
  CHECK(all.vector_flops == 1024 + 2048);
  CHECK(all.uncertain_flops == 0);
  CHECK(all.load_bytes == 1600);
  CHECK(all.store_bytes == 3200);
  CHECK(guarded(given(1)).matrix_flops == kPush);
}

TEST_CASE("a kernel that executes less than its contract asks for is suspicious") {
  const Needs both = needs(2 * kPush, 4800, 3200);
  CHECK(flaw(guarded(given(0)), both).empty());
  CHECK(flaw(guarded(given(1)), both) ==
        "suspicious: the kernels execute at most 2.1e+06 floating-point operations, 50 % of the "
        "4.194e+06 of the spec's cost.flops; contract.min_flops asks for 75 %");
  Needs nothing = both;
  nothing.share = 0;
  CHECK(flaw(guarded(given(1)), nothing).empty());
}

TEST_CASE("work that may not have run is named where it matters") {
  const Work unknown = guarded({});
  CHECK(unknown.matrix_flops == 2 * kPush);
  CHECK(unknown.uncertain_flops == kPush);
  CHECK(flaw(unknown, needs(2 * kPush, 4800, 3200)) ==
        "not_modelled: whether 2.097e+06 of 4.197e+06 floating-point operations run is not known: "
        "k.1: line 3, which depends on operand 0 (s32[]), whose values are not known; let it "
        "depend on "
        "sizes or whole-number inputs");
  // Without the guarded push the kernel does enough.
  CHECK(flaw(unknown, needs(kPush, 4800, 3200)).empty());
}

TEST_CASE("a check that a kernel makes says nothing of the work that its predicate guards") {
  const std::string text = std::string(kGuardedText) + " 0x4 : { %10 = shalt.err (!%p2_p0) }\n";
  auto run = run_program({{"k.1/packed-bundles-post-ra.txt", text}}, device);
  REQUIRE(run);
  CHECK(work_of(*run, device).uncertain_flops == kPush);
}

TEST_CASE("outputs are written, and as much is moved as inputs and outputs need") {
  const Work work = guarded(given(0));
  CHECK(flaw(work, needs(kPush, 4800, 3201)) ==
        "suspicious: 3200 bytes are written to HBM, and the outputs have 3201");
  CHECK(flaw(work, needs(kPush, 6400, 3200)).empty());
  CHECK(
      flaw(work, needs(kPush, 7000, 3200)) ==
      "suspicious: 4800 bytes move between HBM and VMEM, 69 % of the 7000 that inputs and outputs "
      "need, and at least 75 % are asked for; where the case needs less, the spec's cost.bytes "
      "should say so");
}

TEST_CASE("a modelled time below the roofline is suspicious") {
  Work work;
  work.matrix_flops = work.load_bytes = work.store_bytes = 1e18;
  Needs of = needs(2 * device.peak_flops, device.hbm_bytes_per_second, 0);
  const auto at = [&](double seconds) { return flaw_of(work, seconds, of, device); };
  CHECK_FALSE(at(2));
  CHECK(at(1.99)->kind == "suspicious");
  CHECK(at(1.99)->reason ==
        "the modelled time of 1.99 s is below the roofline of tpu7x, 2 s: 2.307e+15 floating-point "
        "operations at 1.154e+15 a second, 3.69e+12 bytes at 3.69e+12 a second; where the case "
        "needs less, the spec's cost should say so");
  // The bytes are the bound if they take longer.
  of.flops = 0;
  CHECK_FALSE(at(1));
  CHECK(at(0.99));
  // The matrix units are twice as fast for operands of eight bits.
  of.flops = 4 * device.peak_flops;
  of.operand_bits = 8;
  CHECK_FALSE(at(2));
  CHECK(at(1.99));
  // A formula that gives an average counts only by 3/4, because the drawn inputs may need less.
  of.is_average = true;
  CHECK_FALSE(at(1.5));
  CHECK(at(1.49));
}

TEST_CASE("a case needs its inputs and outputs once, or what its formula says") {
  const json terms = {{"min_flops", 0.75}, {"operand", "bfloat16"}};
  const auto tensor = [](const char* dtype, std::vector<int> shape) {
    return json{{"name", "t"}, {"dtype", dtype}, {"shape", shape}};
  };
  json signature = {{"inputs", {tensor("bfloat16", {8, 128}), tensor("float32", {4})}},
                    {"outputs", {tensor("float32", {8, 2}), tensor("bool", {3})}}};
  auto read = [&](double bytes) {
    auto out = read_needs({{"flops", 7}, {"bytes", bytes}}, terms, signature);
    REQUIRE(out);
    return *out;
  };
  CHECK(read(1e9).bytes == 2048 + 16 + 64 + 3);
  CHECK(read(1e9).output_bytes == 64 + 3);
  CHECK(read(100).bytes == 100);
  CHECK(read(100).flops == 7);
  CHECK(read(100).share == 0.75);
  CHECK_FALSE(read(100).is_average);
  CHECK(read(100).operand_bits == 16);
  signature["inputs"].push_back(tensor("int64", {2}));  // 32 bits on a TPU
  CHECK(read(1e9).bytes == 2048 + 16 + 8 + 64 + 3);
  CHECK(read(100).is_average);
  signature["inputs"].push_back(tensor("float8_e4m3fn", {2}));
  CHECK(read(100).operand_bits == 8);
  CHECK(read_needs(json::object(), terms, signature)
            .error()
            .message.starts_with("a case's cost, terms or signature: "));
}
