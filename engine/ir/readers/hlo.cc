#include "engine/ir/readers/hlo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/text.h"
#include "engine/ir/readers/vmem_report.h"

namespace evolve::ir {

namespace {

// Returns the length up to the first `stop` outside brackets, braces, parentheses and quotes.
// Without a `stop`, returns the length of the text. Nullopt: these marks do not close in order.
std::optional<size_t> length_until(std::string_view text, char stop) {
  std::string closing;  // the marks that close the open ones
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      if (c == '"') is_quoted = false;
      continue;
    }
    if (c == stop && closing.empty()) return i;
    if (c == '"') is_quoted = true;
    if (c == '(') closing += ')';
    if (c == '[') closing += ']';
    if (c == '{') closing += '}';
    if (c != ')' && c != ']' && c != '}') continue;
    if (closing.empty() || closing.back() != c) return std::nullopt;
    closing.pop_back();
  }
  return closing.empty() && !is_quoted ? std::optional(text.size()) : std::nullopt;
}

std::string without_comments(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t open = std::min(text.find("/*"), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    size_t close = text.find("*/");
    text.remove_prefix(close == std::string_view::npos ? text.size() : close + 2);
  }
  return out;
}

std::string_view without_percent(std::string_view name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

// Returns the value of `key=` in "{key=value key=value}".
std::string_view in_braces(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  if (text.starts_with('"')) return text.substr(1, text.find('"', 1) - 1);
  return text.substr(0, text.find_first_of(" }"));
}

// Returns the length of "bf16[8,128]{1,0:T(8,128)}" at the front of a text.
size_t extents_and_layout(std::string_view text) {
  size_t end = 0;
  for (auto [open, close] : {std::pair('[', ']'), std::pair('{', '}')}) {
    if (end < text.size() && text[end] != open && open == '{') break;
    end = text.find(close, text.find(open, end));
    if (end == std::string_view::npos) return text.size();
    ++end;
  }
  return end;
}

// Returns the bytes that a type such as "(bf16[8,128]{1,0:T(8,128)(2,1)}, (s32[]))" has in HBM.
double hbm_bytes(std::string_view type) {
  double sum = 0;
  while (true) {
    type.remove_prefix(std::min(type.find_first_not_of("(), "), type.size()));
    if (type.empty()) return sum;
    // The type ends at the comma, or at the end of the tuple, after the extents and the layout.
    size_t end = std::min(type.find_first_of(",)", extents_and_layout(type)), type.size());
    std::string_view one = type.substr(0, end);
    type.remove_prefix(end);
    size_t layout = std::min(one.find('{'), one.size());
    bool is_elsewhere = one.substr(layout).find("S(") != std::string_view::npos;
    auto bytes = shape_bytes(one.substr(0, layout));
    if (!is_elsewhere && bytes) sum += static_cast<double>(*bytes);
  }
}

// Returns the extents of "bf16[8,128]{1,0:T(8,128)}"; empty: not an array.
std::vector<double> extents_of(std::string_view type) {
  std::vector<double> out;
  const size_t open = type.find_first_of("[(");
  if (open == std::string_view::npos || type[open] == '(') return out;
  type.remove_prefix(open + 1);
  while (!type.empty() && type.front() != ']') {
    const auto extent = take_number<uint64_t>(type);
    if (!extent) return {};
    out.push_back(static_cast<double>(*extent));
    if (type.starts_with(',')) type.remove_prefix(1);
  }
  return out;
}

// More FLOPs than any program has. The limit keeps a damaged shape from giving infinity or NaN.
constexpr double kMostFlops = 1e30;

double product(const std::vector<double>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, [](double product, double extent) {
    return std::min(product * extent, kMostFlops);
  });
}

// Returns how many products make one element of a dot's result. This is the product of the extents
// of the dot's left side whose numbers are in a list such as "{1,2}".
double contracted_by_dot(std::string_view dimensions, const std::vector<double>& left) {
  double out = 1;
  while (true) {
    dimensions.remove_prefix(std::min(dimensions.find_first_of("0123456789"), dimensions.size()));
    if (dimensions.empty()) return out;
    size_t number = 0;
    auto [end, error] =
        std::from_chars(dimensions.data(), dimensions.data() + dimensions.size(), number);
    if (error == std::errc() && number < left.size())
      out = std::min(out * left[number], kMostFlops);
    dimensions.remove_prefix(static_cast<size_t>(end - dimensions.data()));
  }
}

// Returns the numbers of `key=` in "{size=8x2 stride=7x1 lhs_dilate=8x2}", one per spatial
// dimension. Empty: no such key.
std::vector<double> window_of(std::string_view window, std::string_view key) {
  std::string_view numbers = in_braces(window, key);
  std::vector<double> out;
  while (!numbers.empty()) {
    const auto number = take_number<uint64_t>(numbers);
    if (!number) break;
    out.push_back(static_cast<double>(*number));
    if (!numbers.empty()) numbers.remove_prefix(1);
  }
  return out;
}

// Returns how many products make one element of a convolution's result: a product over the labels
// of its right side, "0io" in "0bf_0io->0bf". "i" counts with its extent, and "o" does not count. A
// digit is a spatial dimension, which counts with the number of places in the window that meet an
// element of the left side. If the left side is dilated, most places do not meet an element; XLA
// writes a batch dimension in this way. Places in the padding count, too.
double contracted_by_convolution(const HloInstruction& instruction,
                                 const std::vector<double>& right) {
  std::string_view labels = instruction.attribute("dim_labels");
  labels.remove_prefix(std::min(labels.find('_') + 1, labels.size()));
  labels = labels.substr(0, labels.find('-'));
  const std::vector<double> dilated = window_of(instruction.attribute("window"), "lhs_dilate=");
  double out = 1;
  for (size_t i = 0; i < std::min(labels.size(), right.size()); ++i) {
    if (labels[i] == 'o') continue;
    double places = right[i];
    const auto spatial = static_cast<size_t>(labels[i] - '0');
    if (labels[i] != 'i' && spatial < dilated.size() && dilated[spatial] > 1)
      places = std::max(1.0, places / dilated[spatial]);
    out = std::min(out * places, kMostFlops);
  }
  return out;
}

class HloReader {
 public:
  HloReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<HloModule> read() {
    bool is_inside = false;
    size_t lines = 0;  // in the text that was read last
    while (!text_.empty()) {
      size_t end = line_length(is_inside);
      std::string_view line = trimmed(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      line_ += static_cast<uint32_t>(std::exchange(
          lines, 1 + static_cast<size_t>(std::count(line.begin(), line.end(), '\n'))));
      if (line.empty() || line.starts_with("HloModule")) continue;
      // Attributes may follow, such as the execution_thread of a computation that runs elsewhere.
      if (line == "}" || line.starts_with("}, ")) {
        if (!is_inside) return error("the end of a computation has no beginning");
        is_inside = false;
      } else if (is_inside) {
        TRY(read_instruction(line));
        if (is_endless_) return error("an instruction does not end");
      } else {
        if (!line.ends_with('{')) continue;
        bool is_entry = line.starts_with("ENTRY ");
        if (is_entry) line.remove_prefix(6);
        std::string_view name = without_percent(line);
        computations_.push_back({std::string(name.substr(0, name.find(' '))), is_entry, {}});
        is_inside = true;
      }
    }
    if (is_inside) return error("a computation does not end");
    return HloModule(std::move(computations_));
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return bad_input(fmt::format("{}:{}: {}", name_, line_, what));
  }

  // Returns the length of an instruction, which goes on while a bracket or a quote is open. An
  // instruction that never ends counts as one line.
  size_t line_length(bool is_inside) {
    size_t end = std::min(text_.find('\n'), text_.size());
    if (!is_inside || trimmed(text_.substr(0, end)).starts_with('}')) return end;
    auto whole = length_until(text_, '\n');
    is_endless_ = !whole;
    return whole.value_or(end);
  }

  Status read_instruction(std::string_view line) {
    HloInstruction one;
    one.line = line_;
    one.is_root = line.starts_with("ROOT ");
    if (one.is_root) line.remove_prefix(5);
    size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) return error("an instruction has no '='");
    one.name = without_percent(line.substr(0, equals));
    std::string_view rest = line.substr(equals + 3);
    auto type = length_until(rest, ' ');
    if (!type) return error("a type does not end");
    one.type = without_comments(rest.substr(0, *type));
    rest = trimmed(rest.substr(*type));
    size_t open = rest.find('(');
    if (open == std::string_view::npos) return error("an instruction has no operands");
    one.opcode = rest.substr(0, open);
    rest.remove_prefix(open + 1);
    auto operands = closing(rest);
    if (!operands) return error("the operands do not end");
    for (std::string_view inner = rest.substr(0, *operands); !trimmed(inner).empty();)
      one.operands.emplace_back(without_percent(take(inner)));
    rest.remove_prefix(*operands + 1);
    while (!rest.empty()) {
      std::string_view attribute = take(rest);
      size_t at = attribute.find('=');
      if (at == std::string_view::npos) continue;
      one.attributes.emplace(attribute.substr(0, at), attribute.substr(at + 1));
    }
    computations_.back().instructions.push_back(std::move(one));
    return {};
  }

  // Returns the place where the open parenthesis closes.
  static std::optional<size_t> closing(std::string_view text) {
    size_t at = 0;
    while (true) {
      auto next = length_until(text.substr(at), ')');
      if (!next || at + *next >= text.size()) return std::nullopt;
      return at + *next;
    }
  }

  // Takes the text before the next comma from the front.
  static std::string_view take(std::string_view& text) {
    size_t length = length_until(text, ',').value_or(text.size());
    std::string_view out = trimmed(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    return out;
  }

  std::string_view text_;
  const std::string& name_;
  uint32_t line_ = 1;
  bool is_endless_ = false;
  std::vector<HloComputation> computations_;
};

}  // namespace

std::string_view HloInstruction::attribute(const std::string& key) const {
  auto found = attributes.find(key);
  return found == attributes.end() ? std::string_view() : without_percent(found->second);
}

HloSource source_of(const HloInstruction& instruction) {
  std::string_view metadata = instruction.attribute("metadata");
  HloSource out;
  out.op_name = in_braces(metadata, "op_name=");
  out.file = in_braces(metadata, "source_file=");
  std::string_view line = in_braces(metadata, "source_line=");
  std::from_chars(line.data(), line.data() + line.size(), out.line);
  return out;
}

HloModule::HloModule(std::vector<HloComputation> computations)
    : computations_(std::move(computations)) {
  for (size_t i = 0; i < computations_.size(); ++i) {
    for (size_t k = 0; k < computations_[i].instructions.size(); ++k)
      by_name_.emplace(computations_[i].instructions[k].name, std::pair(i, k));
  }
  // The text has computations before those that call them, so each finds what it calls. Candidates
  // choose much of the text, so bodies are compared as a whole, not by a hash.
  std::map<std::string, size_t> numbers;
  for (const HloComputation& one : computations_) {
    bodies_.emplace(one.name, numbers.emplace(body_of(one), numbers.size()).first->second);
    double flops = 0;
    for (const HloInstruction& each : one.instructions) {
      flops += matrix_flops_of(each);
      if (has_kernel(each)) with_kernel_.insert(one.name);
    }
    flops_.emplace(one.name, flops);
  }
}

const HloInstruction* HloModule::find(const std::string& name) const {
  auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  return &computations_[found->second.first].instructions[found->second.second];
}

std::string HloModule::work_of(const std::string& name) const {
  const HloInstruction* instruction = find(name);
  return instruction == nullptr ? "" : work_of(*instruction);
}

HloModule::HbmBytes HloModule::hbm_bytes_of(const std::string& name) const {
  const HloInstruction* instruction = find(name);
  if (instruction == nullptr) return {};
  auto bytes_of = [this](const std::string& operand) {
    const HloInstruction* from = find(operand);
    return from == nullptr ? 0 : hbm_bytes(from->type);
  };
  constexpr size_t kUpdate = 1;  // the operand after the updated one
  if (instruction->opcode == "dynamic-update-slice" && instruction->operands.size() > kUpdate)
    return {bytes_of(instruction->operands[kUpdate]), bytes_of(instruction->operands[kUpdate])};
  HbmBytes out = {0, hbm_bytes(instruction->type)};
  for (const std::string& operand : instruction->operands) out.read += bytes_of(operand);
  return out;
}

bool HloModule::has_kernel(const std::string& name) const {
  const HloInstruction* instruction = find(name);
  return instruction != nullptr && has_kernel(*instruction);
}

bool HloModule::has_kernel(const HloInstruction& instruction) const {
  if (instruction.attribute("custom_call_target") == kKernelTarget) return true;
  return std::any_of(
      instruction.attributes.begin(), instruction.attributes.end(),
      [this](const auto& each) { return with_kernel_.contains(without_percent(each.second)); });
}

double HloModule::matrix_flops_of(const std::string& name) const {
  const HloInstruction* instruction = find(name);
  return instruction == nullptr ? 0 : matrix_flops_of(*instruction);
}

double HloModule::matrix_flops_of(const HloInstruction& instruction) const {
  const bool is_dot = instruction.opcode == "dot",
             is_convolution = instruction.opcode == "convolution";
  double sum = 0;
  if ((is_dot || is_convolution) && instruction.operands.size() == 2) {
    const HloInstruction* from = find(instruction.operands[is_dot ? 0 : 1]);
    const std::vector<double> side =
        from == nullptr ? std::vector<double>() : extents_of(from->type);
    const double contracted =
        is_dot ? contracted_by_dot(instruction.attribute("lhs_contracting_dims"), side)
               : contracted_by_convolution(instruction, side);
    sum += 2 * product(extents_of(instruction.type)) * contracted;
  }
  for (const auto& [key, value] : instruction.attributes) {
    if (auto called = flops_.find(without_percent(value)); called != flops_.end())
      sum += called->second;
  }
  return std::min(sum, kMostFlops);
}

std::string HloModule::work_of(const HloInstruction& instruction) const {
  std::string out = instruction.opcode + " " + instruction.type;
  for (const std::string& operand : instruction.operands) {
    const HloInstruction* from = find(operand);
    out += " " + (from == nullptr ? operand : from->type);
  }
  for (const auto& [key, value] : instruction.attributes) {
    // These keys say where the instruction comes from, or where it runs. They do not say what it
    // does.
    if (key == "metadata" || key == "backend_config" || key == "frontend_attributes") continue;
    auto body = bodies_.find(without_percent(value));
    out += body == bodies_.end() ? fmt::format(" {}={}", key, value)
                                 : fmt::format(" {}=body {}", key, body->second);
  }
  return out;
}

// Returns the text of a computation, with numbers in place of names.
std::string HloModule::body_of(const HloComputation& computation) const {
  std::map<std::string_view, size_t> numbers;
  std::string out;
  for (const HloInstruction& one : computation.instructions) {
    numbers.emplace(one.name, numbers.size());
    out += one.is_root ? "; root " : "; ";
    out += work_of(one);
    for (const std::string& operand : one.operands) {
      if (auto number = numbers.find(operand); number != numbers.end())
        out += fmt::format(" #{}", number->second);
    }
  }
  return out;
}

Result<HloModule> parse_hlo(std::string_view text, const std::string& name) {
  return HloReader(text, name).read();
}

}  // namespace evolve::ir
