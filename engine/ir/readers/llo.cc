#include "engine/ir/readers/llo.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/dump_lines.h"
#include "engine/ir/readers/text.h"

namespace evolve::ir {

namespace {

// Limits for damaged dumps. A pass has about a dozen opcodes that are kept.
constexpr size_t kMostPassOpcodes = 256;
constexpr size_t kMostSpaces = 64;
constexpr size_t kIndent = 2;  // of the content of a region, relative to its head
constexpr std::string_view kRegion = "$region";
constexpr std::string_view kAllocation = "#allocation";
constexpr std::string_view kSpill = "_spill";

// Takes a number, "12" or "0x1f", from the front of the text.
std::optional<uint64_t> take_plain_or_hexadecimal(std::string_view& text) {
  constexpr std::string_view kHexadecimal = "0x";
  bool is_hexadecimal = text.starts_with(kHexadecimal);
  std::string_view digits = text.substr(is_hexadecimal ? kHexadecimal.size() : 0);
  const auto value = take_number<uint64_t>(digits, is_hexadecimal ? 16 : 10);
  if (value) text = digits;
  return value;
}

// Takes the number of a region or an allocation from the front of the text.
std::optional<uint32_t> take_name(std::string_view& text) {
  auto number = take_plain_or_hexadecimal(text);
  if (!number || *number >= UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

RegionKind region_kind(std::string_view head) {
  std::string_view kind = trimmed(behind(head, "//"));
  if (kind.empty()) return RegionKind::plain;
  if (kind == "loop_body") return RegionKind::loop_body;
  return kind == "pred_region" ? RegionKind::predicated : RegionKind::control;
}

// Whether a load or a store uses a spill slot. The address is the first operand.
bool is_of_spill_slot(std::string_view operands) {
  size_t at = std::min(operands.find('#'), operands.size());
  std::string_view address = operands.substr(at, operands.find(']', at) - at);
  return address.find(kSpill) != std::string_view::npos;
}

class LloReader {
 public:
  LloReader(std::string_view text, std::string name)
      : text_(text), name_(std::move(name)), lines_(text) {}

  Result<LloPass> read() {
    while (lines_.next()) {
      TRY(read_line(lines_.content()));
    }
    if (lines_.is_in_comment()) return error("a comment does not end");
    if (pass_.regions.empty()) return error("the pass has no regions");
    if (!text_.ends_with('\n')) return error("the file ends within a line");
    if (is_begun_) return error("the file ends within a region");
    if (!loops_.empty()) return error_at(loops_.back(), "the loop has no exit");
    for (const Branch& branch : branches_) {
      if (!regions_.contains(branch.region))
        return error_at(branch.line,
                        fmt::format("branch to region {}, which does not exist", branch.region));
    }
    return std::move(pass_);
  }

 private:
  struct Open {
    size_t indent;
    uint32_t region;
  };
  struct Branch {
    uint32_t region;
    uint32_t line;
  };

  [[nodiscard]] Error error_at(uint32_t line, const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", name_, line, what));
  }
  [[nodiscard]] Error error(const std::string& what) const {
    return error_at(lines_.number(), what);
  }

  Status read_line(std::string_view line) {
    size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) return {};
    std::string_view content = line.substr(indent);
    is_behind_ = is_behind_ || (indent == 0 && content.starts_with("stack"));
    if (is_behind_) return {};
    if (content.starts_with("//")) {
      // "// region range: [46, 46)" may be all that an empty region has.
      if (!open_.empty() && indent > open_.back().indent) is_begun_ = false;
      return {};
    }
    TRY(find_region(indent));
    if (content.starts_with(kRegion)) return read_region(indent, content.substr(kRegion.size()));
    if (open_.empty()) return error("the line is in no region");
    if (content.starts_with('%')) return read_instruction(content);
    if (content.starts_with(kAllocation))
      return read_allocation(trimmed(content.substr(kAllocation.size())));
    if (trimmed(content) == "_") return {};
    if (content.starts_with("loop:")) {
      loops_.push_back(lines_.number());
      return {};
    }
    return error(fmt::format("not a line of a pass: '{}'", content.substr(0, 40)));
  }

  // Closes the regions that end before a line with this indent, and checks the indent.
  Status find_region(size_t indent) {
    if (is_begun_ && indent <= open_.back().indent)
      return error(fmt::format("region {} is empty", region().number));
    while (!open_.empty() && indent <= open_.back().indent) open_.pop_back();
    size_t due = open_.empty() ? 0 : open_.back().indent + kIndent;
    if (indent != due) return error(fmt::format("indented by {}, expected {}", indent, due));
    is_begun_ = false;
    return {};
  }

  [[nodiscard]] const LloRegion& region() const { return pass_.regions[open_.back().region]; }

  // Reads "149: #{gmm.1} parent=1 // loop_body" or "38 (PrimaryCoreRegion): parent=7".
  Status read_region(size_t indent, std::string_view text) {
    auto number = take_name(text);
    if (text.starts_with(" (")) text.remove_prefix(std::min(text.find(':'), text.size()));
    if (!number || !text.starts_with(':')) return error("a region has no number");
    std::string_view head = text.substr(1);
    if (trimmed(head).starts_with("#{")) head = behind(head, "}");
    auto place = static_cast<uint32_t>(pass_.regions.size());
    if (!regions_.emplace(*number, place).second)
      return error(fmt::format("region {} appears twice", *number));
    std::string_view said = behind(head, "parent=");
    auto parent = take_name(said);
    bool is_inner = !open_.empty();
    if (parent.has_value() != is_inner || (is_inner && *parent != region().number))
      return error(fmt::format("region {} is not inside the region that it names", *number));
    if (!loops_.empty() && trimmed(behind(head, "//")) == "loop_exit") loops_.pop_back();
    pass_.regions.push_back(
        {*number, is_inner ? open_.back().region : place, region_kind(head), lines_.number()});
    open_.push_back({indent, place});
    is_begun_ = true;
    return {};
  }

  // Reads an allocation:
  // "4_spill [shape = 'u8[512]{0}', space=smem, size = 0x200, offset = 0, scoped, tag = '…']".
  Status read_allocation(std::string_view text) {
    LloAllocation out;
    auto number = take_name(text);
    if (!number) return error("an allocation has no number");
    out.number = *number;
    if (!allocated_.insert(*number).second)
      return error(fmt::format("allocation {} appears twice", *number));
    out.is_spill = text.starts_with(kSpill);
    constexpr std::string_view kTag = "tag = '";
    size_t close = text.rfind("']");
    if (close == std::string_view::npos) return error("an allocation has no ']'");
    text = text.substr(0, close);
    std::string_view tag = behind(text, kTag);
    // Only the fields before the tag are searched, because the tag may be any text.
    std::string_view fields = text.substr(0, text.size() - tag.size());
    std::string_view shape = behind(fields, "shape = '");
    out.shape = shape.substr(0, shape.find('\''));
    std::string_view space = behind(fields, "space=");
    out.space = space.substr(0, space.find(','));
    std::string_view size = behind(fields, "size = ");
    auto bytes = take_plain_or_hexadecimal(size);
    // The largest size of an allocation. No memory has as much, and sums do not overflow.
    constexpr uint64_t kMostBytes = uint64_t{1} << 44;
    constexpr uint64_t kLater = UINT64_MAX;  // a later pass decides
    if (out.space.empty() || !bytes || (*bytes > kMostBytes && *bytes != kLater))
      return error(fmt::format("allocation {} has no space and size", *number));
    if (std::find(pass_.spaces.begin(), pass_.spaces.end(), out.space) == pass_.spaces.end()) {
      if (pass_.spaces.size() >= kMostSpaces) return error("too many memories");
      pass_.spaces.push_back(out.space);
    }
    out.bytes = *bytes == kLater ? 0 : *bytes;
    std::string_view offset = behind(fields, "offset = ");
    out.offset = take_plain_or_hexadecimal(offset);
    out.is_fixed = fields.find("fixed_abs") != std::string_view::npos;
    out.tag = tag.substr(0, tag.find(". "));
    out.region = open_.back().region;
    out.line = lines_.number();
    pass_.allocations.push_back(std::move(out));
    return {};
  }

  Status read_instruction(std::string_view text) {
    constexpr std::string_view kEquals = " = ";
    size_t equals = text.find(kEquals);
    if (equals == std::string_view::npos)
      return error(fmt::format("not an instruction: '{}'", text.substr(0, 40)));
    ++pass_.count;
    std::string_view rest = text.substr(equals + kEquals.size());
    std::string_view opcode = rest.substr(0, rest.find(' '));
    std::string_view operands = rest.substr(opcode.size());
    if (opcode.starts_with("sbr")) return read_branch(operands);
    if (opcode.starts_with("dma."))
      return keep(opcode, opcode.starts_with("dma.done") ? pass_.waits : pass_.transfers);
    bool is_store = opcode.starts_with("vst") || opcode.starts_with("sst");
    bool is_load = opcode.starts_with("vld") || opcode.starts_with("sld");
    if (is_store || is_load) {
      if (!is_of_spill_slot(operands)) return {};
      return keep(opcode, is_store ? pass_.spills : pass_.fills);
    }
    // Pseudo-opcodes begin with "vpseudo.", "spseudo.", "ppseudo." or "vmpseudo.".
    std::string_view what = behind(opcode.substr(0, opcode.find('_')), "pseudo.");
    if (what == "spill") return keep(opcode, pass_.spills);
    if (what == "fill") return keep(opcode, pass_.fills);
    return {};
  }

  // Reads " (%p1) target = $region16".
  Status read_branch(std::string_view operands) {
    std::string_view target = behind(operands, "target = $region");
    if (auto region = take_name(target)) branches_.push_back({*region, lines_.number()});
    return {};
  }

  Status keep(std::string_view opcode, std::vector<LloInstruction>& list) {
    auto found = std::find(pass_.opcodes.begin(), pass_.opcodes.end(), opcode);
    if (found == pass_.opcodes.end()) {
      if (pass_.opcodes.size() >= kMostPassOpcodes) return error("too many opcodes");
      found = pass_.opcodes.emplace(found, opcode);
    }
    auto place = static_cast<uint16_t>(found - pass_.opcodes.begin());
    list.push_back({place, open_.back().region, lines_.number()});
    return {};
  }

  std::string_view text_;
  std::string name_;
  DumpLines lines_;
  LloPass pass_;
  std::vector<Open> open_;
  // Whether the innermost region has nothing in it yet.
  bool is_begun_ = false;
  // Whether the program has ended. The rest of the dump lists the stacks of the instructions.
  bool is_behind_ = false;
  std::unordered_map<uint32_t, uint32_t> regions_;
  std::unordered_set<uint32_t> allocated_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> loops_;  // lines of the loops without an exit so far
};

}  // namespace

Result<LloPass> read_llo(std::string_view text, const std::string& name) {
  return LloReader(text, name).read();
}

SpaceUse space_use(const LloPass& pass, std::string_view space) {
  struct Peak {
    uint64_t bytes = 0, spilled_bytes = 0;
  };
  std::vector<Peak> own(pass.regions.size());
  SpaceUse out;
  for (const LloAllocation& one : pass.allocations) {
    if (one.is_fixed || one.space != space) continue;
    out.bytes += one.bytes;
    own[one.region].bytes += one.bytes;
    if (one.is_spill) own[one.region].spilled_bytes += one.bytes;
  }
  // Parents come first. So, from the last region backwards, each region is complete before it
  // counts for its parent.
  std::vector<Peak> below(pass.regions.size());
  Peak all;
  for (size_t i = pass.regions.size(); i-- > 0;) {
    Peak peak = {own[i].bytes + below[i].bytes, own[i].spilled_bytes + below[i].spilled_bytes};
    uint32_t parent = pass.regions[i].parent;
    Peak& outer = parent == i ? all : below[parent];
    if (peak.bytes > outer.bytes) outer = peak;
  }
  out.peak_bytes = all.bytes;
  out.spilled_bytes = all.spilled_bytes;
  return out;
}

}  // namespace evolve::ir
