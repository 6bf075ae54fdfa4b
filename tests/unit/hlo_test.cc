// Tests of HLO text: its instructions, and which instructions do the same work.
#include "engine/ir/readers/hlo.h"

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;

namespace {

constexpr const char* kText =
    R"(HloModule jit_f, is_scheduled=true, entry_computation_layout={(s32[8]{0})->s32[8]{0}}

%add_one (p.1: s32[8]) -> s32[8] {
  %p.1 = s32[8]{0:T(128)} parameter(0)
  %one.1 = s32[] constant(1)
  %b.1 = s32[8]{0:T(128)} broadcast(%one.1), dimensions={}
  ROOT %sum.1 = s32[8]{0:T(128)S(1)} add(%p.1, %b.1), metadata={op_name="jit(f)/add" source_file="a, b.py" source_line=12}
}

%add_one.2 (x: s32[8]) -> s32[8] {
  %x = s32[8]{0:T(128)} parameter(0)
  %c = s32[] constant(1)
  %d = s32[8]{0:T(128)} broadcast(%c), dimensions={}
  ROOT %e = s32[8]{0:T(128)S(1)} add(%x, %d)
}

%add_two (x.3: s32[8]) -> s32[8] {
  %x.3 = s32[8]{0:T(128)} parameter(0)
  %c.3 = s32[] constant(2)
  %d.3 = s32[8]{0:T(128)} broadcast(%c.3), dimensions={}
  ROOT %e.3 = s32[8]{0:T(128)S(1)} add(%x.3, %d.3)
}

ENTRY %main (a: s32[8]) -> (s32[8], /*index=1*/s32[8]) {
  %a = s32[8]{0:T(128)} parameter(0)
  %f.1 = s32[8]{0:T(128)S(1)} fusion(%a), kind=kLoop, calls=%add_one, backend_config={"offset":"0"}
  %f.2 = s32[8]{0:T(128)S(1)} fusion(%f.1), kind=kLoop, calls=%add_one.2, metadata={op_name="x"}
  %f.3 = s32[8]{0:T(128)S(1)} fusion(%a), kind=kLoop, calls=%add_one.2, backend_config={"offset":"512"}
  %f.4 = s32[8]{0:T(128)S(1)} fusion(%a), kind=kLoop, calls=%add_two
  %k.1 = s32[8]{0} custom-call(%a, %f.1), custom_call_target="tpu_custom_call", operand_layout_constraints={s32[8]{0}, s32[8]{0}}
  ROOT %t = (s32[8]{0}, /*index=1*/s32[8]{0}) tuple(%f.1, %k.1)
}
)";

HloModule parsed(const std::string& text) {
  auto module = parse_hlo(text, "hlo");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  return *module;
}

std::string error_of(const std::string& text) {
  auto module = parse_hlo(text, "hlo");
  return module ? "" : module.error().message;
}

}  // namespace

TEST_CASE("instructions have types, operands, attributes and where they come from") {
  HloModule module = parsed(kText);
  REQUIRE(module.computations().size() == 4);
  CHECK(module.computations()[3].is_entry);
  CHECK(module.computations()[3].name == "main");
  const HloInstruction* kernel = module.find("k.1");
  REQUIRE(kernel != nullptr);
  CHECK(kernel->opcode == "custom-call");
  CHECK(kernel->operands == std::vector<std::string>{"a", "f.1"});
  CHECK(kernel->attribute("custom_call_target") == "\"tpu_custom_call\"");
  CHECK(kernel->attribute("operand_layout_constraints") == "{s32[8]{0}, s32[8]{0}}");
  CHECK(kernel->line == 30);
  CHECK(module.find("t")->type == "(s32[8]{0}, s32[8]{0})");
  CHECK(module.find("f.1")->attribute("calls") == "add_one");
  HloSource source = source_of(*module.find("sum.1"));
  CHECK(source.op_name == "jit(f)/add");
  CHECK(source.file == "a, b.py");
  CHECK(source.line == 12);
  CHECK(module.find("nobody") == nullptr);
}

TEST_CASE("the same work is the same, whatever it is called") {
  HloModule module = parsed(kText);
  CHECK(module.work_of("f.1") == module.work_of("f.3"));
  CHECK(module.work_of("f.1") != module.work_of("f.4"));
  // The operand of f.2 is in another memory.
  CHECK(module.work_of("f.1") != module.work_of("f.2"));
  CHECK(module.work_of("nobody").empty());
}

TEST_CASE("an instruction goes on to its last bracket") {
  auto module = parse_hlo(
      "ENTRY %main () -> s32[] {\n"
      "  %k.1 = s32[] custom-call(), frontend_attributes={kernel_metadata={\n"
      "\"a\":\"{\\\"b\\\": 5}\"\n}}, metadata={op_name=\"x\"}\n"
      "  ROOT %r = s32[] copy(%k.1)\n}\n",
      "hlo");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  REQUIRE(module->find("k.1") != nullptr);
  CHECK(source_of(*module->find("k.1")).op_name == "x");
  REQUIRE(module->find("r") != nullptr);
  CHECK(module->find("r")->line == 5);
}

TEST_CASE("a computation may be followed by the place where it runs") {
  auto module = parse_hlo(
      "%f (a: s32[]) -> s32[] {\n  ROOT %a = s32[] parameter(0)\n}, "
      "execution_thread=\"sparsecore\"\n\nENTRY %main () -> s32[] {\n}\n",
      "hlo");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  CHECK(module->computations().size() == 2);
}

TEST_CASE("an instruction moves its operands and its result, as far as they are in HBM") {
  auto module = parse_hlo(
      "ENTRY %main () -> s32[] {\n"
      "  %a = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)\n"
      "  %b = f32[16]{0:T(128)S(1)} parameter(1)\n"
      "  %i = s32[]{:T(128)} parameter(2)\n"
      "  %pair = (bf16[8,128]{1,0}, /*index=1*/f32[16]{0:S(1)}, (f32[2]{0}, s8[3]), u8[5]) "
      "fusion(%a, "
      "%b), "
      "kind=kLoop, calls=%f\n"
      "  ROOT %put = bf16[64,128]{1,0} dynamic-update-slice(%big, %a, %i, %i)\n}\n",
      "hlo");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  auto moved = [&](const char* name) {
    const HloModule::HbmBytes bytes = module->hbm_bytes_of(name);
    return std::pair(bytes.read, bytes.written);
  };
  CHECK(moved("a") == std::pair(0.0, 2048.0));
  CHECK(moved("pair") == std::pair(2048.0, 2048.0 + 8 + 3 + 5));
  CHECK(moved("put") == std::pair(2048.0, 2048.0));
  CHECK(moved("other") == std::pair(0.0, 0.0));
}

TEST_CASE("matrix products are counted by what they contract, in what an instruction calls, too") {
  auto module = parse_hlo(
      "HloModule x\n\n%inner (p: bf16[64,32], q: bf16[32,16]) -> f32[64,16] {\n"
      "  %p = bf16[64,32]{1,0:T(8,128)(2,1)} parameter(0)\n  %q = bf16[32,16]{1,0} parameter(1)\n"
      "  ROOT %c = f32[64,16]{1,0} convolution(%p, %q), dim_labels=bf_io->bf\n}\n\n"
      "ENTRY %main (a: bf16[4,64,32], b: bf16[4,32,8,2]) -> f32[4,64] {\n"
      "  %a = bf16[4,64,32]{2,1,0} parameter(0)\n  %b = bf16[4,32,8,2]{3,2,1,0} parameter(1)\n"
      "  %d = f32[4,64,8,2]{3,2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={0}, rhs_contracting_dims={1}\n"
      "  %full = f32[] dot(%a, %a), lhs_contracting_dims={0,1,2}, rhs_contracting_dims={0,1,2}\n"
      "  %o = f32[64,16]{1,0} convolution(%p, %q), dim_labels=bf_oi->bf\n"
      "  %lost = f32[8]{0} dot(%gone, %b), lhs_contracting_dims={0}\n"
      "  %f = f32[64,16]{1,0} fusion(%a, %b), kind=kOutput, calls=%inner\n"
      "  %many = bf16[64,512,512]{2,1,0} convolution(%k, %k), window={size=64 stride=63 "
      "lhs_dilate=64}, dim_labels=0bf_0io->0bf\n  %k = bf16[64,512,512]{2,1,0} parameter(3)\n"
      "  %two = f32[2,8,256,256]{3,2,1,0} convolution(%q2, %k2), window={size=2x8 stride=1x7 "
      "lhs_dilate=2x8}, dim_labels=01bf_01oi->01bf\n  %k2 = bf16[2,8,256,128]{3,2,1,0} "
      "parameter(4)\n  %vast = f32[9999999999,9999999999,9999999999]{2,1,0} parameter(2)\n"
      "  %huge = f32[9999999999,9999999999,9999999999]{2,1,0} dot(%vast, %vast), "
      "lhs_contracting_dims={0,1,2,0,1,2}\n"
      "  ROOT %r = (f32[4]) custom-call(%d)\n}\n",
      "hlo");
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  CHECK(module->matrix_flops_of("c") == 2.0 * 64 * 16 * 32);
  CHECK(module->matrix_flops_of("f") == 2.0 * 64 * 16 * 32);
  CHECK(module->matrix_flops_of("d") == 2.0 * 4 * 64 * 16 * 32);
  CHECK(module->matrix_flops_of("full") == 2.0 * 4 * 64 * 32);
  CHECK(module->matrix_flops_of("o") == 2.0 * 64 * 16 * 16);
  CHECK(module->matrix_flops_of("lost") == 16);
  CHECK(module->matrix_flops_of("r") == 0);
  CHECK(module->matrix_flops_of("none") == 0);
  CHECK(module->matrix_flops_of("huge") == 1e30);
  // A dilated dimension is XLA's way to write a batch.
  CHECK(module->matrix_flops_of("many") == 2.0 * 64 * 512 * 512 * 512);
  CHECK(module->matrix_flops_of("two") == 2.0 * 2 * 8 * 256 * 256 * 128);
}

TEST_CASE("a text that is not HLO is refused with its line") {
  std::string head = "HloModule x\n\n%c (a: s32[]) -> s32[] {\n";
  CHECK(error_of(head) == "hlo:3: a computation does not end");
  CHECK(error_of(head + "  %a = s32[] parameter(0)\n") == "hlo:4: a computation does not end");
  CHECK(error_of(head + "  hello\n}\n") == "hlo:4: an instruction has no '='");
  CHECK(error_of(head + "  %a = s32[8 add(%b)\n}\n") == "hlo:4: a type does not end");
  CHECK(error_of(head + "  %a = s32[] add\n}\n") == "hlo:4: an instruction has no operands");
  CHECK(error_of(head + "  %a = s32[] add(%b\n}\n") == "hlo:4: the operands do not end");
  CHECK(error_of(head + "  %a = s32[] add(), x=(\n}\n") == "hlo:4: an instruction does not end");
  CHECK(error_of("}\n") == "hlo:1: the end of a computation has no beginning");
  CHECK(error_of("").empty());
}
