// Tests of instruction names: which unit issues an instruction.
#include "engine/ir/readers/opcode.h"

#include <string>
#include <utility>

#include "tests/catch.h"

using namespace evolve::ir;

TEST_CASE("an instruction's unit is that of libtpu's static utilisation") {
  for (const auto& [name, unit] :
       {std::pair<std::string, Unit>{"vmatmul.mubr.bf16.gmra.mrb[4].mxu0", Unit::mxu},
        {"vmatpush1.bf16.msra.mxu1", Unit::mxu},
        {"vpop.f32.mrb[124].mxu1", Unit::pop},
        {"vpop.eup", Unit::pop},
        {"vpop.xlane.xlu0", Unit::pop},
        {"vpow2.f32", Unit::eup},
        {"vrot.slane", Unit::valu},
        {"vrot.lane.b32.xlu0", Unit::xlu},
        {"vadd.xlane.f32.xlu1", Unit::xlu},
        {"vadd.f32", Unit::valu},
        {"vcombine.low", Unit::valu},
        {"vld", Unit::load},
        {"vst", Unit::store},
        {"sadd.s32", Unit::scalar},
        {"dma.hbm_to_vmem", Unit::dma}}) {
    CAPTURE(name);
    CHECK(decode_opcode(name).unit == unit);
  }
}

TEST_CASE("a matmul takes the rows that a register holds") {
  CHECK(decode_opcode("vmatmul.mubr.bf16.gmra.mrb[4].mxu1").mxu == 1);
  CHECK(decode_opcode("vmatmul.mubr.bf16.gmra.mrb[4].mxu1").matmul_rows == 16);
  CHECK(decode_opcode("vmatmul.mubr.f32.gmra.mrb[4].mxu1").matmul_rows == 8);
  CHECK(decode_opcode("vmatmul.mubr.f8e4m3fn.vlgmr.mxu0").matmul_rows == 32);
  CHECK(decode_opcode("vpow2.f32").matmul_rows == 0);
}
