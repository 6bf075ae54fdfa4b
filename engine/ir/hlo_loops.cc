#include "engine/ir/hlo_loops.h"

#include <algorithm>
#include <charconv>

namespace evolve::ir {

namespace {

// More passes than any program has time for.
constexpr int64_t kMostPasses = 1'000'000'000;

std::optional<int64_t> whole(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const HloInstruction* root_of(const HloModule& module, std::string_view computation) {
  for (const HloComputation& one : module.computations()) {
    if (one.name != computation) continue;
    auto root = std::find_if(one.instructions.begin(), one.instructions.end(),
                             [](const HloInstruction& each) { return each.is_root; });
    return root == one.instructions.end() ? nullptr : &*root;
  }
  return nullptr;
}

// An operand; nullptr where there is none, or the text does not have it.
const HloInstruction* operand_of(const HloModule& module, const HloInstruction* of, size_t number) {
  return of == nullptr || number >= of->operands.size() ? nullptr
                                                        : module.find(of->operands[number]);
}

// What a constant is, also one that was copied.
std::optional<int64_t> constant(const HloModule& module, const HloInstruction* from) {
  constexpr int kMostCopies = 8;
  for (int i = 0; i < kMostCopies && from != nullptr; ++i) {
    if (from->opcode == "constant" && !from->operands.empty()) return whole(from->operands[0]);
    if (from->opcode != "copy") break;
    from = operand_of(module, from, 0);
  }
  return std::nullopt;
}

// The constant of "element + constant", in either order.
std::optional<int64_t> addend(const HloModule& module, const HloInstruction* sum) {
  if (sum == nullptr || sum->opcode != "add") return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (auto value = constant(module, operand_of(module, sum, i))) return value;
  }
  return std::nullopt;
}

std::optional<int64_t> passes_of_loop(const HloModule& module, const HloInstruction& loop) {
  const HloInstruction* test = root_of(module, loop.attribute("condition"));
  if (test == nullptr || test->opcode != "compare" || test->attribute("direction") != "LT")
    return std::nullopt;
  const HloInstruction* counter = operand_of(module, test, 0);
  if (counter == nullptr || counter->opcode != "get-tuple-element") return std::nullopt;
  const auto element = whole(counter->attribute("index"));
  if (!element || *element < 0) return std::nullopt;
  const auto at = static_cast<size_t>(*element);
  const auto limit = constant(module, operand_of(module, test, 1));
  const auto begin = constant(module, operand_of(module, operand_of(module, &loop, 0), at));
  const auto step = addend(module, operand_of(module, root_of(module, loop.attribute("body")), at));
  if (!limit || !begin || !step || *step <= 0) return std::nullopt;
  const int64_t passes = *limit <= *begin ? 0 : (*limit - *begin + *step - 1) / *step;
  return passes > kMostPasses ? std::nullopt : std::optional(passes);
}

}  // namespace

HloLoops::HloLoops(const HloModule& module) {
  for (const HloComputation& one : module.computations()) {
    if (one.is_entry) passes_[one.name] = 1;
    for (const HloInstruction& each : one.instructions) computation_of_[each.name] = one.name;
  }
  const auto add = [this](std::string_view called, std::optional<uint64_t> passes) {
    auto [found, is_new] = passes_.try_emplace(std::string(called), passes);
    if (is_new) return;
    if (found->second && passes) {
      *found->second += *passes;
    } else {
      found->second = std::nullopt;
    }
  };
  // The text has computations before those that call them.
  const auto& all = module.computations();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    auto known = passes_.find(one->name);
    if (known == passes_.end()) continue;  // nobody calls it
    const std::optional<uint64_t> passes = known->second;
    for (const HloInstruction& each : one->instructions) {
      if (each.opcode == "while") {
        const auto its = passes_of_loop(module, each);
        const bool is_known = passes && its && *passes * *its <= kMostPasses;
        add(each.attribute("body"), is_known ? std::optional(*passes * *its) : std::nullopt);
        continue;
      }
      for (const char* key : {"calls", "to_apply", "true_computation", "false_computation"}) {
        if (const auto called = each.attribute(key); !called.empty()) add(called, passes);
      }
    }
  }
}

std::optional<uint64_t> HloLoops::passes_of(const std::string& instruction) const {
  auto computation = computation_of_.find(instruction);
  if (computation == computation_of_.end()) return std::nullopt;
  auto passes = passes_.find(computation->second);
  return passes == passes_.end() ? std::nullopt : passes->second;
}

}  // namespace evolve::ir
