#include "engine/ir/readers/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/dump_lines.h"
#include "engine/ir/readers/guards.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

// The most bundles and opcodes. No real kernel has as many, and anything larger is no schedule.
constexpr size_t kMostScheduleBundles = 4'000'000;
constexpr size_t kMostScheduleOpcodes = 60'000;
// Names are numbered through a module. A name with this number or a larger one counts as no name.
constexpr uint32_t kMostNames = 1U << 24;
constexpr std::string_view kDecimalDigits = "0123456789";

std::optional<uint32_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  int radix = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    radix = 16;
  }
  const auto value = to_number<uint32_t>(text, radix);
  return value && is_negative ? 0 - *value : value;
}

// Returns the bits of a 32-bit float that is written like "2.0", "-0.5" or "1e-06".
std::optional<uint32_t> parse_float(std::string_view text) {
  const auto value = to_number<float>(text);
  if (!value || text.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  return std::bit_cast<uint32_t>(*value);
}

std::optional<uint32_t> leading_integer(std::string_view text) {
  return parse_integer(text.substr(0, text.find_first_not_of(kDecimalDigits)));
}

// Gives small numbers to the numbers in names such as "s8156", in the order in which they occur.
class Names {
 public:
  // Returns the small number of a name's number; kNone: there is none, or it is too large.
  int32_t of(std::optional<uint32_t> name) {
    if (!name || *name >= kMostNames) return kNone;
    if (*name >= numbers_.size())
      numbers_.resize(std::max<size_t>(*name + 1, 2 * numbers_.size()), kNone);
    int32_t& number = numbers_[*name];
    if (number == kNone) number = count_++;
    return number;
  }
  [[nodiscard]] int32_t count() const { return count_; }

 private:
  std::vector<int32_t> numbers_;
  int32_t count_ = 0;
};

// Lets a map find a string by a string_view, without making a string.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, std::string name) : lines_(text) {
    schedule_.name = std::move(name);
  }

  Result<Schedule> read() {
    while (lines_.next()) {
      TRY(read_line(lines_.content()));
    }
    if (lines_.is_in_comment()) return error("a comment does not end");
    if (schedule_.bundles.empty()) return error("the schedule has no bundles");
    if (lines_.is_open()) return error("the schedule ends before region 0");
    for (const Branch& branch : branches_) {
      if (branch.address >= schedule_.bundles.size())
        return error_at(branch.line, fmt::format("branch to bundle {:#x}, which does not exist",
                                                 branch.address));
    }
    schedule_.sources = lines_.sources();
    if (!schedule_.sources.empty()) schedule_.issue_sources.resize(schedule_.issues.size());
    add_guards(schedule_, guarded_);
    schedule_.slots = slots_.count();
    schedule_.registers = registers_.count();
    return std::move(schedule_);
  }

 private:
  struct Branch {
    uint32_t address;
    uint32_t line;
  };
  // The results that a division put aside, in the order in which they are taken.
  struct Divided {
    Operand dividend, divisor;
    std::vector<Op> results;
  };

  [[nodiscard]] Error error_at(uint32_t line, const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", schedule_.name, line, what));
  }
  [[nodiscard]] Error error(const std::string& what) const {
    return error_at(lines_.number(), what);
  }

  Status read_line(std::string_view line) {
    size_t open = line.find('{');
    size_t colon = line.substr(0, open).find(':');
    if (open == std::string_view::npos || colon == std::string_view::npos) return {};
    size_t close = line.rfind('}');
    if (close == std::string_view::npos || close < open) return error("a bundle has no '}'");
    std::string_view head = trimmed(line.substr(0, colon));
    auto address = parse_integer(head.substr(0, head.find(' ')));
    if (!address) return error("a bundle has no address");
    size_t index = schedule_.bundles.size();
    if (index >= kMostScheduleBundles) return error("too many bundles");
    if (*address != index)
      return error(fmt::format("bundle {:#x}, expected {:#x}", *address, index));
    Bundle bundle;
    bundle.first = static_cast<uint32_t>(schedule_.instructions.size());
    bundle.first_issue = static_cast<uint32_t>(schedule_.issues.size());
    bundle.line = lines_.number();
    std::string_view body = line.substr(open + 1, close - open - 1);
    while (!body.empty()) {
      size_t end = std::min(body.find(";;"), body.size());
      TRY(read_instruction(trimmed(body.substr(0, end))));
      body.remove_prefix(std::min(end + 2, body.size()));
    }
    // Phis come first, because they act on the way into the bundle.
    auto begin = schedule_.instructions.begin() + bundle.first;
    std::stable_partition(begin, schedule_.instructions.end(),
                          [](const Instruction& one) { return one.op == Op::phi; });
    bundle.count = static_cast<uint32_t>(schedule_.instructions.size()) - bundle.first;
    bundle.issues = static_cast<uint32_t>(schedule_.issues.size()) - bundle.first_issue;
    schedule_.bundles.push_back(bundle);
    return {};
  }

  Status read_instruction(std::string_view text) {
    if (text.empty()) return {};
    uint16_t source = lines_.source_of(text);
    size_t equals = text.find(" = ");
    if (equals == std::string_view::npos || !text.starts_with('%'))
      return error(fmt::format("not an instruction: '{}'", text.substr(0, 40)));
    std::string_view name = text.substr(1, equals - 1);
    std::string_view rest = trimmed(text.substr(equals + 3));
    size_t end = std::min(rest.find_first_of(" ("), rest.size());
    std::string_view word = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    auto id = opcode_of(word, is_spill(word, rest));
    if (!id) return error("too many kinds of instructions");
    if (source != 0) {
      schedule_.issue_sources.resize(schedule_.issues.size());
      schedule_.issue_sources.push_back(source);
    }
    schedule_.issues.push_back(*id);
    const Opcode& opcode = schedule_.opcodes[*id];
    if (opcode.op == Op::ignored) {
      note_guard(rest, *id, opcode.name == "shalt.err");
      return {};
    }
    bool has_scalar_result = name.starts_with('s') || name.starts_with('p');
    if (opcode.op == Op::unknown && !has_scalar_result) return {};
    Instruction instruction;
    instruction.op = opcode.op;
    instruction.way = opcode.way;
    instruction.is_to_smem = opcode.is_to_smem;
    instruction.target = *id;
    if (has_scalar_result) {
      instruction.result = slot_of(name);
      instruction.reg = register_of(name);
      note_space(word, instruction.result);
    } else if (opcode.op == Op::flag_read) {
      instruction.result = slot_of(name);  // the pop refers to the value by this name
    }
    runs_ = true;
    read_rest(name, rest, instruction);
    if (!runs_) {
      if (!instruction.passed.is_known) return {};
      instruction.op = Op::copy;
      instruction.operands = {instruction.passed};
    }
    bool is_executed = instruction.op != Op::divide_both &&
                       (instruction.op != Op::call || instruction.target != UINT32_MAX);
    if (is_executed) schedule_.instructions.push_back(instruction);
    return {};
  }

  static bool is_spill(std::string_view word, std::string_view rest) {
    if (!word.starts_with("vld") && !word.starts_with("vst")) return false;
    return rest.find("_spill]") != std::string_view::npos ||
           rest.find("_spill + ") != std::string_view::npos;
  }

  // Notes an instruction with a predicate, "(!%p3_p1), …", before its operands. `halts`: it ends
  // the kernel with an error.
  void note_guard(std::string_view rest, uint16_t opcode, bool halts) {
    size_t open = rest.find("(%p");
    bool negated = open == std::string_view::npos;
    if (negated) open = rest.find("(!%p");
    if (open == std::string_view::npos) return;
    int32_t slot = slot_of(rest.substr(open + (negated ? 2 : 1)));
    auto bundle = static_cast<uint32_t>(schedule_.bundles.size());
    if (slot == kNone) return;
    guarded_.push_back({bundle, slot, negated, opcode, halts});
    if (halts) schedule_.checks.push_back({slot, negated});
  }

  void read_rest(std::string_view name, std::string_view rest, Instruction& instruction) {
    switch (instruction.op) {
      case Op::operand:
      case Op::parameter: read_kernel_operand(rest, instruction); break;
      case Op::branch: read_branch(rest, instruction); break;
      case Op::call: read_call(rest, instruction); break;
      case Op::divide_both: read_division(name, rest, instruction); break;
      case Op::pop_divided: read_pop(rest, instruction); break;
      default: read_operands(rest, instruction);
    }
    if (instruction.op == Op::load_smem && rest.ends_with(trimmed(DumpLines::kCore)))
      instruction.op = Op::core;
    if (instruction.op == Op::dma &&
        schedule_.opcodes[schedule_.issues.back()].name == "dma.general")
      read_way(rest, instruction);
  }

  std::optional<uint16_t> opcode_of(std::string_view word, bool is_spill) {
    ByText<uint16_t>& ids = is_spill ? spill_ids_ : opcode_ids_;
    if (auto found = ids.find(word); found != ids.end()) return found->second;
    Opcode opcode = decode_opcode(word);
    opcode.is_spill = is_spill;
    // Words that differ only in the place of the result share an opcode. Each matrix unit has
    // opcodes of its own.
    std::string key = opcode.name + "@" + std::to_string(opcode.mxu);
    auto known = ids.find(key);
    uint16_t id = 0;
    if (known != ids.end()) {
      id = known->second;
    } else {
      if (schedule_.opcodes.size() >= kMostScheduleOpcodes) return std::nullopt;
      id = static_cast<uint16_t>(schedule_.opcodes.size());
      ids.emplace(std::move(key), id);
      schedule_.opcodes.push_back(std::move(opcode));
    }
    ids.try_emplace(std::string(word), id);
    return id;
  }

  // Reads "[shape: s32[9], index: 1, kind: input, …]". " memory space>" may precede this text.
  void read_kernel_operand(std::string_view text, Instruction& instruction) {
    auto number = leading_integer(behind(text, "index: "));
    if (!number || *number > kMostParameters) {
      instruction.op = Op::unknown;
      return;
    }
    instruction.operands[0] = {kNone, *number, true};
    KernelOperand operand;
    operand.number = *number;
    std::string_view shape = behind(text, "shape: ");
    size_t open = std::min(shape.find('['), shape.size());
    operand.dtype = shape.substr(0, open);
    std::string_view extents = shape.substr(open, shape.find(']') - open);
    while (!extents.empty()) {
      extents.remove_prefix(1);  // '[' or ','
      if (auto extent = leading_integer(extents)) operand.shape.push_back(*extent);
      extents.remove_prefix(std::min(extents.find(','), extents.size()));
    }
    operand.space = schedule_.opcodes[schedule_.issues.back()].name.substr(
        std::string_view("inlined_call_operand.").size());
    if (instruction.op == Op::parameter) operand.space.clear();
    operand.is_output = behind(text, "kind: ").starts_with("output");
    schedule_.operands.push_back(std::move(operand));
  }

  void read_branch(std::string_view text, Instruction& instruction) {
    read_predicate(text, instruction);
    instruction.target = leading_integer(behind(text, "target bundleno = ")).value_or(UINT32_MAX);
    branches_.push_back({instruction.target, lines_.number()});
  }

  // Notes which memory an address is in: "scalar_lea.hbm" and "int_to_ptr.vmem" make addresses.
  void note_space(std::string_view word, int32_t slot) {
    if (slot == kNone) return;
    size_t dot = word.rfind('.');
    std::string_view space = dot == std::string_view::npos ? "" : word.substr(dot + 1);
    if (space == "hbm" || space == "vmem" || space == "smem") in_hbm_[slot] = space == "hbm";
  }

  // Whether an address is in HBM. Nullopt: the memory of the address is not known.
  [[nodiscard]] std::optional<bool> is_in_hbm(const Operand& address) const {
    auto found = in_hbm_.find(address.slot);
    return found == in_hbm_.end() ? std::nullopt : std::optional(found->second);
  }

  // Reads the direction of a "dma.general" from its comment or else from its addresses. The
  // instruction is unknown if neither gives the direction.
  void read_way(std::string_view text, Instruction& instruction) {
    size_t at = text.find("-to-");
    const bool is_said = at != std::string_view::npos;
    const auto from = is_said ? std::optional(text.substr(0, at).ends_with(" hbm"))
                              : is_in_hbm(instruction.operands[0]);
    const auto to = is_said ? std::optional(text.substr(at).starts_with("-to-hbm"))
                            : is_in_hbm(instruction.operands[2]);
    if (!from || !to) {
      instruction.op = Op::unknown;
      return;
    }
    instruction.way = *from && *to ? Way::within_hbm
                      : *from      ? Way::inward
                      : *to        ? Way::outward
                                   : Way::on_chip;
  }

  // Reads "%s1, %s2 %gmm.1 = custom-call". A call without an instruction belongs to libtpu itself.
  void read_call(std::string_view text, Instruction& instruction) {
    instruction.target = UINT32_MAX;
    size_t equals = text.find(" = ");
    size_t name = text.rfind('%', equals);
    if (equals == std::string_view::npos || name == std::string_view::npos) return;
    instruction.target = static_cast<uint32_t>(schedule_.calls.size());
    std::string_view opcode = text.substr(equals + 3);
    // The result's type precedes the opcode.
    schedule_.calls.push_back({std::string(text.substr(name + 1, equals - name - 1)),
                               std::string(opcode.substr(opcode.rfind(' ') + 1))});
  }

  void read_division(std::string_view name, std::string_view text, Instruction& instruction) {
    Divided divided;
    size_t kind = std::min(text.find(" k"), text.size());
    if (text.find(" kDiv") != std::string_view::npos) divided.results.push_back(Op::divide);
    if (text.find("Rem", kind) != std::string_view::npos) divided.results.push_back(Op::remainder);
    read_operands(text.substr(0, kind), instruction);
    divided.dividend = instruction.operands[0];
    divided.divisor = instruction.operands[1];
    divided_.insert_or_assign(std::string(name), std::move(divided));
  }

  // Reads "%3519": the next result that the division of this name put aside.
  void read_pop(std::string_view text, Instruction& instruction) {
    instruction.op = Op::unknown;
    if (text.starts_with('%')) text.remove_prefix(1);
    auto found = divided_.find(text);
    if (found == divided_.end() || found->second.results.empty()) return;
    Divided& divided = found->second;
    instruction.op = divided.results.front();
    instruction.operands[0] = divided.dividend;
    instruction.operands[1] = divided.divisor;
    divided.results.erase(divided.results.begin());
  }

  // Takes the predicate "(…)" from the front of the text.
  void read_predicate(std::string_view& text, Instruction& instruction) {
    if (!text.starts_with('(')) return;
    size_t close = std::min(text.find(')'), text.size());
    std::string_view inner = text.substr(1, close - 1);
    text = close < text.size() ? trimmed(text.substr(close + 1)) : std::string_view();
    if (text.starts_with(',')) text = trimmed(text.substr(1));
    instruction.negated = inner.starts_with('!');
    if (instruction.negated) inner.remove_prefix(1);
    size_t comma = inner.find(',');
    const std::string_view what = trimmed(inner.substr(0, comma));
    if (const auto constant = parse_integer(what)) {
      runs_ = (*constant != 0) != instruction.negated;
    } else {
      instruction.predicate = slot_of(what);
    }
    if (comma != std::string_view::npos)
      instruction.passed = parse_operand(inner.substr(comma + 1));
  }

  void read_operands(std::string_view text, Instruction& instruction) {
    if (text.starts_with("[thread:")) text = trimmed(behind(text, "]"));
    if (text.starts_with("[resolvable:")) text = trimmed(behind(text, "]"));
    read_predicate(text, instruction);
    size_t count = 0;
    std::string_view first;
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      char c = i < text.size() ? text[i] : ',';
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      // An address ends its operand even if no comma follows: "sst [smem:[…]] %s1", "sld […] (%p)".
      bool is_address_end = c == ']' && depth == 0;
      if (!is_address_end && (c != ',' || depth != 0)) continue;
      std::string_view operand = trimmed(text.substr(start, i + (is_address_end ? 1 : 0) - start));
      start = i + 1;
      if (operand.empty()) continue;
      if (operand.starts_with('(')) {
        read_predicate(operand, instruction);
        if (operand.empty()) continue;
      }
      if (count == 0) first = operand;
      if (count < instruction.operands.size())
        instruction.operands[count++] = parse_operand(operand);
    }
    if (instruction.op == Op::address) {
      // This may be a new name for a register that already has one. The instruction that made the
      // old name may not have run; then the register keeps its old value.
      const bool is_renamed = instruction.reg != kNone && register_of(first) == instruction.reg;
      instruction.op = count == 2 ? Op::add : is_renamed ? Op::rename : Op::copy;
    }
  }

  Operand parse_operand(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('%')) {
      int32_t slot = slot_of(text);
      return {slot, 0, slot != kNone};
    }
    if (auto number = parse_integer(text)) return {kNone, *number, true};
    if (auto bits = parse_float(text)) return {kNone, *bits, true};
    // "2 [#allocation6]": the mark names the base from which the number counts. Another operand has
    // this base.
    if (const size_t mark = text.find(" [#"); mark != std::string_view::npos) {
      if (auto number = parse_integer(text.substr(0, mark))) return {kNone, *number, true};
    }
    // An address: [smem:[#allocation4 + $0x1]], [#allocation4], vmem:[%s1 + $0x10].
    size_t open = text.rfind('[');
    size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    return parse_address(text.substr(open + 1, close - open - 1));
  }

  // Reads the terms of an address: "#allocation4", "%s1 + $0x10", "#allocation4 + %s2". At most two
  // are slots.
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
        if (slot == kNone) return {};
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

  // Returns the address of an allocation. Addresses are far apart, so allocations do not overlap.
  uint32_t allocation_of(std::string_view name) {
    auto found = allocations_.find(name);
    if (found != allocations_.end()) return found->second;
    auto address = static_cast<uint32_t>(allocations_.size() + 1) << 18;
    allocations_.emplace(name, address);
    return address;
  }

  // Returns the slot of "s8156_s2", "%p3" or "%962". A number stands for one value, whatever its
  // letter.
  int32_t slot_of(std::string_view name) {
    if (name.starts_with('%')) name.remove_prefix(1);
    if (name.starts_with('s') || name.starts_with('p')) name.remove_prefix(1);
    return slots_.of(leading_integer(name));
  }

  // Returns the register of "s8156_s2".
  int32_t register_of(std::string_view name) {
    std::string_view reg = behind(name, "_");
    if (reg.size() < 2) return kNone;
    auto number = leading_integer(reg.substr(1));
    if (number) *number = 2 * *number + (reg.front() == 'p' ? 1 : 0);
    return registers_.of(number);
  }

  DumpLines lines_;
  Schedule schedule_;
  std::vector<Branch> branches_;
  ByText<uint16_t> opcode_ids_;
  ByText<uint16_t> spill_ids_;
  std::unordered_map<int32_t, bool> in_hbm_;  // addresses, by their slots
  std::vector<Guarded> guarded_;
  bool runs_ = true;  // false: a constant predicate keeps the present instruction from running
  ByText<Divided> divided_;
  ByText<uint32_t> allocations_;
  Names slots_;
  Names registers_;
};

}  // namespace

Result<Schedule> parse_schedule(std::string_view text, const std::string& name) {
  return ScheduleReader(text, name).read();
}

}  // namespace evolve::ir
