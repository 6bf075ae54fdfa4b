#include "engine/ir/readers/opcode.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>

namespace evolve::ir {

namespace {

// Operations by the whole name: those of the scalar unit, and those of other units that exchange
// values with it. For all other names, the first letters decide.
const std::unordered_map<std::string_view, Op>& ops() {
  static const std::unordered_map<std::string_view, Op> table = {
      {"smov", Op::copy},
      {"pmov", Op::copy},
      {"sadd.s32", Op::add},
      {"sadd.u32", Op::add},
      {"ssub.s32", Op::sub},
      {"ssub.u32", Op::sub},
      {"smul.u32", Op::mul},
      {"smul.s32", Op::mul},
      {"smulhi.u32", Op::mul_high},
      {"sshll.u32", Op::shift_left},
      {"sshrl.u32", Op::shift_right},
      {"sshra.s32", Op::shift_right_signed},
      {"sand.u32", Op::bit_and},
      {"sor.u32", Op::bit_or},
      {"sxor.u32", Op::bit_xor},
      {"smin.s32", Op::min_s},
      {"smax.s32", Op::max_s},
      {"smin.u32", Op::min_u},
      {"smax.u32", Op::max_u},
      {"scmp.eq.s32.totalorder", Op::eq},
      {"scmp.ne.s32.totalorder", Op::ne},
      {"scmp.lt.s32.totalorder", Op::lt_s},
      {"scmp.le.s32.totalorder", Op::le_s},
      {"scmp.gt.s32.totalorder", Op::gt_s},
      {"scmp.ge.s32.totalorder", Op::ge_s},
      {"scmp.eq.u32.totalorder", Op::eq},
      {"scmp.ne.u32.totalorder", Op::ne},
      {"scmp.lt.u32.totalorder", Op::lt_u},
      {"scmp.le.u32.totalorder", Op::le_u},
      {"scmp.gt.u32.totalorder", Op::gt_u},
      {"scmp.ge.u32.totalorder", Op::ge_u},
      {"sdivrem.u32", Op::divide_both},
      {"spop.drf", Op::pop_divided},
      {"sadd.f32", Op::add_f},
      {"ssub.f32", Op::sub_f},
      {"smul.f32", Op::mul_f},
      {"smin.f32", Op::min_f},
      {"smax.f32", Op::max_f},
      {"scmp.eq.f32.partialorder", Op::eq_f},
      {"scmp.ne.f32.partialorder", Op::ne_f},
      {"scmp.lt.f32.partialorder", Op::lt_f},
      {"scmp.le.f32.partialorder", Op::le_f},
      {"scmp.gt.f32.partialorder", Op::gt_f},
      {"scmp.ge.f32.partialorder", Op::ge_f},
      {"sfloor.f32", Op::floor_f},
      {"sceil.f32", Op::ceil_f},
      {"scvt.s32.f32", Op::to_float},
      {"scvt.f32.s32", Op::to_int},
      {"por", Op::pred_or},
      {"pand", Op::pred_and},
      {"pnand", Op::pred_nand},
      {"pxor", Op::pred_xor},
      {"pneg", Op::pred_not},
      {"scalar_select", Op::select},
      {"sphi", Op::phi},
      {"pphi", Op::phi},
      {"sld", Op::load_smem},
      {"sst", Op::store_smem},
      {"sbr.rel", Op::branch},
      {"vsyncpa", Op::flag_set},
      {"vsyncadd", Op::flag_add},
      {"vsyncmov", Op::flag_read},
      // Both take the result of a vsyncmov; the second is the name in newer compilers.
      {"vpop.sfrf", Op::copy},
      {"spop.sfrf", Op::copy},
      {"dma.done.wait", Op::wait},
      {"vwait.ge", Op::wait},
      {"inlined_call", Op::call},
      {"dma.general", Op::dma},
      {"spop", Op::of_vectors},
      {"reloc", Op::opaque},
      {"scalar_parameter_address", Op::opaque},
      // Errors, which are assumed not to happen, and what has no effect on the scalar unit.
      {"shalt.err", Op::ignored},
      {"sfence", Op::ignored},
      {"compiler-scheduling-barrier", Op::ignored},
      {"set.rngseed", Op::ignored},
      {"vpush", Op::ignored},
  };
  return table;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto prefix) { return name.starts_with(prefix); });
}

Unit unit_of(std::string_view name) {
  if (name.starts_with("dma.")) return Unit::dma;
  if (!name.starts_with('v') || starts_with_any(name, {"vsync", "vtrace", "vwait"}))
    return Unit::scalar;
  if (name.starts_with("vpop")) return Unit::pop;
  if (starts_with_any(name, {"vmat", "vdwg", "vlatch"})) return Unit::mxu;
  if (starts_with_any(name, {"vrcp", "vrsqrt", "vpow2", "vlog2", "vtanh", "verf", "vsin", "vcos"}))
    return Unit::eup;
  // These instructions work along lanes. The ALUs rotate along sublanes.
  if (starts_with_any(name, {"vrot.lane", "vxpose", "vperm", "vbcast.lane", "vadd.xlane",
                             "vmax.xlane", "vmin.xlane"}))
    return Unit::xlu;
  if (name.starts_with("vld")) return Unit::load;
  if (name.starts_with("vst") && !name.starts_with("vstv")) return Unit::store;
  return Unit::valu;
}

Op op_of(std::string_view name, Unit unit) {
  if (auto found = ops().find(name); found != ops().end()) return found->second;
  // Newer compilers write "smov.u32".
  if (starts_with_any(name, {"smov.", "pmov."})) return Op::copy;
  if (starts_with_any(name, {"scalar_lea.", "int_to_ptr."})) return Op::address;
  if (name.starts_with("inlined_call_operand."))
    return name.ends_with("<no") ? Op::parameter : Op::operand;
  if (name.starts_with("vtrace")) return Op::ignored;
  // The scalar unit does not see vector registers until "spop" takes from them.
  if (unit != Unit::scalar && unit != Unit::dma) return Op::ignored;
  return Op::unknown;
}

// Decodes "dma.SOURCE_to_DESTINATION".
void decode_dma(Opcode& opcode) {
  constexpr std::string_view kTo = "_to_";
  std::string_view name = opcode.name;
  name.remove_prefix(std::string_view("dma.").size());
  size_t at = name.find(kTo);
  if (at == std::string_view::npos) return;
  std::string_view from = name.substr(0, at);
  std::string_view to = name.substr(at + kTo.size());
  constexpr std::array<std::string_view, 3> kSpaces = {"hbm", "vmem", "smem"};
  auto is_known = [&](std::string_view space) {
    return std::find(kSpaces.begin(), kSpaces.end(), space) != kSpaces.end();
  };
  if (!is_known(from) || !is_known(to)) return;
  opcode.op = Op::dma;
  bool is_inward = from == "hbm";
  bool is_outward = to == "hbm";
  opcode.way = is_inward && is_outward ? Way::within_hbm
               : is_inward             ? Way::inward
               : is_outward            ? Way::outward
                                       : Way::on_chip;
  opcode.is_to_smem = to == "smem";
}

// Sets the name without parts such as "[4]" and ".mxu0", and the matrix unit if such a part names
// one.
void set_name(Opcode& opcode, std::string_view word) {
  std::string& name = opcode.name;
  while (!word.empty()) {
    if (word.front() == '[') {
      word.remove_prefix(std::min(word.find(']'), word.size() - 1) + 1);
      continue;
    }
    bool is_place = starts_with_any(word, {".mxu", ".xlu"}) && word.size() > 4 && word[4] >= '0' &&
                    word[4] <= '9';
    if (is_place) {
      if (word[1] == 'm') opcode.mxu = static_cast<uint8_t>(word[4] - '0');
      word.remove_prefix(std::min(word.find_first_not_of("0123456789", 4), word.size()));
      continue;
    }
    name += word.front();
    word.remove_prefix(1);
  }
}

// Returns the cycles of a matmul: eight for 16 rows of bf16 (32 of fp8), four for eight rows of
// f32. These are the smallest distances between two matmuls on one unit in schedules with that
// type. Weights are pushed at the same time.
uint8_t matmul_cycles(std::string_view name) {
  constexpr uint8_t kPacked = 8;
  constexpr uint8_t kWide = 4;
  return name.find(".f32") != std::string_view::npos ? kWide : kPacked;
}

// Returns the rows of a register: 8 of 32-bit numbers, 16 of 16-bit ones, 32 of bytes.
uint8_t matmul_rows(std::string_view name) {
  if (name.find(".f32") != std::string_view::npos) return 8;
  auto has = [&](std::string_view dtype) { return name.find(dtype) != std::string_view::npos; };
  return has(".f8") || has(".s8") || has(".u8") ? 32 : 16;
}

}  // namespace

const char* unit_name(Unit unit) {
  constexpr std::array<const char*, kUnits> kNames = {"mxu",  "xlu",   "valu",   "eup", "pop",
                                                      "load", "store", "scalar", "dma"};
  return kNames[static_cast<size_t>(unit)];
}

Opcode decode_opcode(std::string_view word) {
  Opcode opcode;
  set_name(opcode, word);
  opcode.unit = unit_of(opcode.name);
  opcode.op = op_of(opcode.name, opcode.unit);
  if (opcode.unit == Unit::dma && opcode.op == Op::unknown) decode_dma(opcode);
  opcode.is_matmul = opcode.name.starts_with("vmatmul");
  if (opcode.is_matmul) {
    opcode.matmul_rows = matmul_rows(opcode.name);
    opcode.matmul_cycles = matmul_cycles(opcode.name);
  }
  return opcode;
}

}  // namespace evolve::ir
