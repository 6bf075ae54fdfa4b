#include "engine/ir/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace evolve::ir {

namespace {

// More than any real kernel has; what is larger is no schedule.
constexpr size_t kMostBundles = 4'000'000;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// Scalar opcodes by their name without the type: two operands, one result.
const std::unordered_map<std::string_view, Op>& scalar_ops() {
  static const std::unordered_map<std::string_view, Op> ops = {
      {"smov", Op::copy},
      {"pmov", Op::copy},
      {"sadd.s32", Op::add},
      {"sadd.u32", Op::add},
      {"ssub.s32", Op::sub},
      {"ssub.u32", Op::sub},
      {"smul.u32", Op::mul},
      {"smul.s32", Op::mul},
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
      {"dma.done.wait", Op::wait},
  };
  return ops;
}

Op op_of(std::string_view opcode) {
  auto found = scalar_ops().find(opcode);
  if (found != scalar_ops().end()) return found->second;
  if (opcode.starts_with("scalar_lea.") || opcode.starts_with("int_to_ptr.")) return Op::address;
  if (opcode.starts_with("dma.")) return Op::dma;
  return Op::unknown;
}

Unit unit_of(std::string_view opcode) {
  auto is = [&](std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](auto prefix) { return opcode.starts_with(prefix); });
  };
  if (is({"dma."})) return Unit::dma;
  if (is({"vmat", "vdwg", "vpop.f32.mrb", "vpop.s32.mrb", "vpop.f32.mrf", "vlatch"}))
    return Unit::mxu;
  if (is({"vpop.eup", "vrcp", "vrsqrt", "vpow2", "vlog2", "vtanh", "verf", "vsin", "vcos"}))
    return Unit::eup;
  if (is({"vrot", "vxpose", "vperm", "vpop.permute", "vpop.trf", "vpop.xlane", "vbcast.lane",
          "vadd.xlane", "vmax.xlane", "vmin.xlane"})) {
    return Unit::xlu;
  }
  if (is({"vld"})) return Unit::load;
  if (is({"vst"})) return Unit::store;
  if (opcode.starts_with('v') && !is({"vsync", "vtrace", "vwait"})) return Unit::valu;
  return Unit::scalar;
}

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, std::string name) : text_(text) {
    schedule_.name = std::move(name);
  }

  Result<Schedule> read() {
    std::string line;
    uint32_t number = 0;
    while (next_line(line, number)) {
      if (auto status = read_line(line, number); !status) return std::move(status).error();
    }
    if (depth_ != 0) return error(number, "a comment does not end");
    if (schedule_.bundles.empty()) return error(number, "no bundles");
    for (const auto& [instruction, address] : branches_) {
      auto target = by_address_.find(address);
      if (target == by_address_.end())
        return error(0, fmt::format("branch to bundle {:#x}, which is not there", address));
      schedule_.instructions[instruction].target = target->second;
    }
    schedule_.slots = static_cast<int32_t>(slots_.size());
    schedule_.registers = static_cast<int32_t>(registers_.size());
    return std::move(schedule_);
  }

 private:
  Error error(uint32_t line, const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", schedule_.name, line, what));
  }

  // The next line without its comments, which may go on over several; "/*label=*/" is a comment
  // too.
  bool next_line(std::string& line, uint32_t& number) {
    line.clear();
    if (position_ >= text_.size()) return false;
    number = line_ + 1;
    while (position_ < text_.size()) {
      char c = text_[position_];
      bool has_next = position_ + 1 < text_.size();
      if (c == '/' && has_next && text_[position_ + 1] == '*') {
        ++depth_;
        position_ += 2;
      } else if (depth_ > 0 && c == '*' && has_next && text_[position_ + 1] == '/') {
        --depth_;
        position_ += 2;
      } else {
        ++position_;
        if (c == '\n') ++line_;
        if (depth_ > 0) continue;
        if (c == '\n') return true;
        line += c;
      }
    }
    return true;
  }

  Status read_line(std::string_view line, uint32_t number) {
    size_t open = line.find('{');
    size_t colon = line.find(':');
    if (open == std::string_view::npos || colon == std::string_view::npos || colon > open)
      return {};
    size_t close = line.rfind('}');
    if (close == std::string_view::npos || close < open)
      return error(number, "a bundle without its '}'");
    std::string_view head = trimmed(line.substr(0, colon));
    auto address = parse_integer(head.substr(0, head.find(' ')));
    if (!address) return error(number, "a bundle without its address");
    if (schedule_.bundles.size() >= kMostBundles) return error(number, "too many bundles");
    by_address_[*address] = static_cast<uint32_t>(schedule_.bundles.size());
    Bundle bundle;
    bundle.first = static_cast<uint32_t>(schedule_.instructions.size());
    bundle.line = number;
    std::string_view body = line.substr(open + 1, close - open - 1);
    while (!body.empty()) {
      size_t end = std::min(body.find(";;"), body.size());
      read_instruction(trimmed(body.substr(0, end)), bundle);
      body.remove_prefix(std::min(end + 2, body.size()));
    }
    // Phis stand for what happens on the way into the bundle.
    auto begin = schedule_.instructions.begin() + bundle.first;
    std::stable_partition(begin, schedule_.instructions.end(),
                          [](const Instruction& one) { return one.op == Op::phi; });
    bundle.count = static_cast<uint32_t>(schedule_.instructions.size()) - bundle.first;
    schedule_.bundles.push_back(bundle);
    return {};
  }

  void read_instruction(std::string_view text, Bundle& bundle) {
    size_t equals = text.find(" = ");
    if (equals == std::string_view::npos) return;
    std::string_view name = trimmed(text.substr(0, equals));
    std::string_view rest = trimmed(text.substr(equals + 3));
    size_t end = std::min(rest.find_first_of(" ("), rest.size());
    std::string_view opcode = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    ++bundle.issued[static_cast<size_t>(unit_of(opcode))];
    if (opcode.starts_with("vmatmul")) ++bundle.matmuls;
    bool is_spill = rest.find("_spill]") != std::string_view::npos ||
                    rest.find("_spill + ") != std::string_view::npos;
    if (is_spill && opcode.starts_with("vst")) ++bundle.spills;
    if (is_spill && opcode.starts_with("vld")) ++bundle.fills;
    Instruction instruction;
    instruction.op = op_of(opcode);
    bool has_scalar_result = name.starts_with("%s") || name.starts_with("%p");
    if (instruction.op == Op::unknown && !has_scalar_result) return;
    if (has_scalar_result) {
      instruction.result = slot_of(name);
      instruction.reg = register_of(name);
    }
    if (opcode.ends_with("_to_hbm")) instruction.way = Way::outward;
    if (instruction.op == Op::dma && opcode.find("hbm") == std::string_view::npos)
      instruction.way = Way::on_chip;
    instruction.is_to_smem = opcode.ends_with("_to_smem");
    if (opcode.starts_with("inlined_call_operand.")) {
      read_parameter(opcode, rest, instruction);
    } else if (instruction.op == Op::branch) {
      read_branch(rest, instruction);
    } else {
      read_operands(rest, instruction);
    }
    schedule_.instructions.push_back(instruction);
  }

  // "inlined_call_operand.vmem [shape: s32[9], index: 1, kind: input, …]": where an operand lies;
  // "inlined_call_operand.<no memory space> […]": what it is.
  static void read_parameter(std::string_view opcode, std::string_view text,
                             Instruction& instruction) {
    constexpr std::string_view kIndex = "index: ";
    size_t at = text.find(kIndex);
    std::string_view digits = at == std::string_view::npos ? "" : text.substr(at + kIndex.size());
    auto number = parse_integer(digits.substr(0, digits.find_first_not_of("0123456789")));
    if (!number || *number > kMostParameters) return;
    bool is_value = opcode.ends_with("<no");
    instruction.op = is_value ? Op::parameter : Op::copy;
    instruction.operands[0] = {kNone, is_value ? *number : parameter_address(*number), true};
  }

  void read_branch(std::string_view text, Instruction& instruction) {
    read_predicate(text, instruction);
    constexpr std::string_view kTarget = "target bundleno = ";
    size_t at = text.find(kTarget);
    std::string_view number = at == std::string_view::npos ? "" : text.substr(at + kTarget.size());
    number = number.substr(0, number.find_first_not_of("0123456789"));
    branches_.emplace_back(schedule_.instructions.size(),
                           parse_integer(number).value_or(UINT32_MAX));
  }

  // Takes "(…)" from the front of the text.
  void read_predicate(std::string_view& text, Instruction& instruction) {
    if (!text.starts_with('(')) return;
    size_t close = std::min(text.find(')'), text.size());
    std::string_view inner = text.substr(1, close - 1);
    text = close < text.size() ? trimmed(text.substr(close + 1)) : std::string_view();
    if (text.starts_with(',')) text = trimmed(text.substr(1));
    instruction.negated = inner.starts_with('!');
    if (instruction.negated) inner.remove_prefix(1);
    size_t comma = inner.find(',');
    instruction.predicate = slot_of(trimmed(inner.substr(0, comma)));
    if (comma != std::string_view::npos)
      instruction.passed = parse_operand(inner.substr(comma + 1));
  }

  void read_operands(std::string_view text, Instruction& instruction) {
    if (text.starts_with("[thread:")) text = trimmed(text.substr(text.find(']') + 1));
    if (text.starts_with("[resolvable:")) text = trimmed(text.substr(text.find(']') + 1));
    read_predicate(text, instruction);
    size_t count = 0;
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      char c = i < text.size() ? text[i] : ',';
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      // An address ends its operand even where no comma follows: "sst [smem:[…]] %s1", "sld […]
      // (%p)".
      bool is_address_end = c == ']' && depth == 0;
      if (!is_address_end && (c != ',' || depth != 0)) continue;
      std::string_view operand = trimmed(text.substr(start, i + (is_address_end ? 1 : 0) - start));
      start = i + 1;
      if (operand.empty()) continue;
      if (operand.starts_with('(')) {
        read_predicate(operand, instruction);
        if (operand.empty()) continue;
      }
      if (count < instruction.operands.size())
        instruction.operands[count++] = parse_operand(operand);
    }
    if (instruction.op == Op::address && count == 2) instruction.op = Op::add;
    if (instruction.op == Op::address) instruction.op = Op::copy;
  }

  Operand parse_operand(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('%')) return {slot_of(text), 0, true};
    if (auto number = parse_integer(text)) return {kNone, *number, true};
    // [smem:[#allocation4 + $0x1]], [#allocation4], vmem:[%s1 + $0x10]
    size_t open = text.rfind('[');
    size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    return parse_address(text.substr(open + 1, close - open - 1));
  }

  // "#allocation4", "%s1 + $0x10", "#allocation4 + %s2": terms, at most two of them slots.
  Operand parse_address(std::string_view text) {
    constexpr std::string_view kPlus = " + ";
    Operand sum{kNone, 0, true};
    while (!text.empty()) {
      size_t plus = std::min(text.find(kPlus), text.size());
      std::string_view term = trimmed(text.substr(0, plus));
      text.remove_prefix(std::min(plus + kPlus.size(), text.size()));
      if (term.starts_with('$')) term.remove_prefix(1);
      if (term.starts_with('%')) {
        int32_t& slot = sum.slot == kNone ? sum.slot : sum.index;
        if (slot != kNone) return {};
        slot = slot_of(term);
      } else if (term.starts_with('#')) {
        sum.constant += allocation_of(term);
      } else if (auto number = parse_integer(term)) {
        sum.constant += *number;
      } else {
        return {};
      }
    }
    return sum;
  }

  static std::optional<uint32_t> parse_integer(std::string_view text) {
    text = trimmed(text);
    bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    int radix = 10;
    if (text.starts_with("0x")) {
      text.remove_prefix(2);
      radix = 16;
    }
    uint32_t value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
    if (text.empty() || code != std::errc() || end != text.data() + text.size())
      return std::nullopt;
    return is_negative ? 0 - value : value;
  }

  // Allocations lie far apart.
  uint32_t allocation_of(std::string_view name) {
    auto [it, is_new] = allocations_.try_emplace(
        std::string(name), static_cast<uint32_t>(allocations_.size() + 1) << 18);
    return it->second;
  }

  // "%s8156_s2" -> the slot of "s8156".
  int32_t slot_of(std::string_view name) {
    name.remove_prefix(std::min<size_t>(1, name.size()));
    return id_of(slots_, name.substr(0, name.find('_')));
  }

  int32_t register_of(std::string_view name) {
    size_t underscore = name.find('_');
    if (underscore == std::string_view::npos) return kNone;
    return id_of(registers_, name.substr(underscore + 1));
  }

  static int32_t id_of(std::unordered_map<std::string, int32_t>& ids, std::string_view name) {
    return ids.try_emplace(std::string(name), static_cast<int32_t>(ids.size())).first->second;
  }

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 0;
  int depth_ = 0;
  Schedule schedule_;
  std::unordered_map<uint32_t, uint32_t> by_address_;
  std::vector<std::pair<size_t, uint32_t>> branches_;
  std::unordered_map<std::string, int32_t> slots_;
  std::unordered_map<std::string, int32_t> registers_;
  std::unordered_map<std::string, uint32_t> allocations_;
};

}  // namespace

const char* unit_name(Unit unit) {
  constexpr std::array<const char*, kUnits> kNames = {"mxu",  "xlu",   "valu",   "eup",
                                                      "load", "store", "scalar", "dma"};
  return kNames[static_cast<size_t>(unit)];
}

Result<Schedule> parse_schedule(std::string_view text, const std::string& name) {
  return ScheduleReader(text, name).read();
}

}  // namespace evolve::ir
