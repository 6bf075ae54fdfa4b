#include "engine/ir/readers/hlo_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "engine/core/text/scan.h"
#include "engine/ir/readers/hlo_branches.h"

namespace evolve::ir {

namespace {

// The maximum number of passes of a loop. No program has time for more.
constexpr uint64_t kMostPasses = 1'000'000'000;
// The largest absolute value of a constant. No 32-bit number is larger.
constexpr int64_t kMostCounted = int64_t{1} << 32;

std::optional<int64_t> whole(std::string_view text) {
  return to_number<int64_t>(text);
}

// Returns an operand; null: there is no such operand, or the text does not have it.
const HloInstruction* operand_of(const HloModule& module, const HloInstruction* of, size_t number) {
  return of == nullptr || number >= of->operands.size() ? nullptr
                                                        : module.find(of->operands[number]);
}

// Returns the original of a copy, or of a copy of copies.
const HloInstruction* uncopied(const HloModule& module, const HloInstruction* from) {
  constexpr int kMostCopies = 8;
  for (int i = 0; i < kMostCopies && from != nullptr && from->opcode == "copy"; ++i)
    from = operand_of(module, from, 0);
  return from;
}

std::optional<int64_t> constant(const HloModule& module, const HloInstruction* from) {
  from = uncopied(module, from);
  if (from == nullptr || from->opcode != "constant" || from->operands.empty()) return std::nullopt;
  const auto value = whole(from->operands[0]);
  return value && std::abs(*value) <= kMostCounted ? value : std::nullopt;
}

// A loop's condition or body: a function of the loop's tuple.
class LoopFunction {
 public:
  LoopFunction(const HloModule& module, std::string_view name) : module_(module) {
    for (const HloComputation& one : module.computations()) {
      if (one.name == name) computation_ = &one;
    }
  }

  [[nodiscard]] const HloInstruction* root() const {
    if (computation_ == nullptr) return nullptr;
    const auto& all = computation_->instructions;
    auto root = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.is_root; });
    return root == all.end() ? nullptr : &*root;
  }

  // Returns which element of the function's parameter an instruction gets. Nullopt: it gets none.
  [[nodiscard]] std::optional<size_t> element(const HloInstruction* from) const {
    from = uncopied(module_, from);
    if (from == nullptr || from->opcode != "get-tuple-element") return std::nullopt;
    const HloInstruction* tuple = operand_of(module_, from, 0);
    if (tuple == nullptr || tuple->opcode != "parameter" || !has(*tuple)) return std::nullopt;
    const auto number = whole(from->attribute("index"));
    if (!number || *number < 0) return std::nullopt;
    return static_cast<size_t>(*number);
  }

 private:
  [[nodiscard]] bool has(const HloInstruction& one) const {
    const auto& all = computation_->instructions;
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return &each == &one; });
  }

  const HloModule& module_;
  const HloComputation* computation_ = nullptr;
};

// Returns the range of an integer type of 2 to 32 bits, such as "s32[]". Nullopt: another type.
std::optional<std::pair<int64_t, int64_t>> range_of(std::string_view type) {
  if (type.size() < 2 || (type[0] != 's' && type[0] != 'u')) return std::nullopt;
  const bool has_sign = type[0] == 's';
  const auto bits = whole(type.substr(1, type.find('[') - 1));
  if (!bits || *bits < 2 || *bits > 32) return std::nullopt;
  const int64_t count = int64_t{1} << *bits;
  return has_sign ? std::pair(-count / 2, count / 2 - 1) : std::pair(int64_t{0}, count - 1);
}

// A loop's test, such as "counter < limit", turned so that the counter comes first.
struct Test {
  size_t element = 0;
  std::string_view direction;
  int64_t limit = 0;
  std::pair<int64_t, int64_t> range;  // of the counter's type
};

std::optional<Test> test_of(const HloModule& module, const HloInstruction& loop) {
  const LoopFunction condition(module, loop.attribute("condition"));
  const HloInstruction* compare = condition.root();
  if (compare == nullptr || compare->opcode != "compare") return std::nullopt;
  const std::string_view direction = compare->attribute("direction");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMirrored = {
      {{"LT", "GT"}, {"GT", "LT"}, {"LE", "GE"}, {"GE", "LE"}}};
  for (size_t counter = 0; counter < 2; ++counter) {
    const HloInstruction* side = operand_of(module, compare, counter);
    const auto element = condition.element(side);
    const auto limit = constant(module, operand_of(module, compare, 1 - counter));
    if (!element || !limit) continue;
    const auto range = range_of(side->type);
    auto mirrored = std::find_if(kMirrored.begin(), kMirrored.end(),
                                 [&](const auto& pair) { return pair.first == direction; });
    if (!range || mirrored == kMirrored.end()) return std::nullopt;
    return Test{*element, counter == 0 ? direction : mirrored->second, *limit, *range};
  }
  return std::nullopt;
}

// Returns the number that the body adds to an element of its tuple. Nullopt: the body does anything
// else to the element.
std::optional<int64_t> step_of(const HloModule& module, const HloInstruction& loop,
                               size_t element) {
  const LoopFunction body(module, loop.attribute("body"));
  const HloInstruction* root = body.root();
  if (root == nullptr || root->opcode != "tuple") return std::nullopt;
  const HloInstruction* next = uncopied(module, operand_of(module, root, element));
  if (next == nullptr) return std::nullopt;
  const bool is_sum = next->opcode == "add";
  if (!is_sum && next->opcode != "subtract") return std::nullopt;
  for (size_t counter = 0; counter < (is_sum ? 2U : 1U); ++counter) {
    const auto step = constant(module, operand_of(module, next, 1 - counter));
    if (step && body.element(operand_of(module, next, counter)) == element)
      return is_sum ? *step : -*step;
  }
  return std::nullopt;
}

std::optional<int64_t> begin_of(const HloModule& module, const HloInstruction& loop,
                                size_t element) {
  const HloInstruction* start = uncopied(module, operand_of(module, &loop, 0));
  if (start == nullptr || start->opcode != "tuple") return std::nullopt;
  return constant(module, operand_of(module, start, element));
}

// Returns how often the loop runs. An error says why the number is not known.
Result<uint64_t> passes_of_loop(const HloModule& module, const HloInstruction& loop) {
  const auto test = test_of(module, loop);
  if (!test)
    return failed("its condition does not compare an element of its tuple with a constant");
  const auto begin = begin_of(module, loop, test->element);
  if (!begin)
    return failed(
        fmt::format("its counter, element {}, does not start at a constant", test->element));
  const auto step = step_of(module, loop, test->element);
  if (!step)
    return failed(fmt::format("its body does not only add a constant to its counter, element {}",
                              test->element));
  // `sign` makes a loop that counts down look like one that counts up.
  const bool is_up = test->direction == "LT" || test->direction == "LE";
  const int64_t sign = is_up ? 1 : -1;
  const bool is_inclusive = test->direction == "LE" || test->direction == "GE";
  const int64_t way = sign * (test->limit - *begin) + (is_inclusive ? 1 : 0);
  if (way <= 0) return 0;
  const int64_t each = sign * *step;
  if (each <= 0) return failed("its counter never reaches its limit");
  const int64_t passes = (way + each - 1) / each;
  const int64_t end = *begin + passes * *step;
  if (static_cast<uint64_t>(passes) > kMostPasses || end < test->range.first ||
      end > test->range.second)
    return failed(fmt::format("its counter leaves its type's range, or it has more than {} passes",
                              kMostPasses));
  return static_cast<uint64_t>(passes);
}

}  // namespace

HloLoops::HloLoops(const HloModule& module) {
  for (const HloComputation& one : module.computations()) {
    if (one.is_entry) passes_[one.name] = {};
    for (const HloInstruction& each : one.instructions) computation_of_[each.name] = one.name;
  }
  // The text has computations before those that call them. So, backwards, callers come first.
  const auto& all = module.computations();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    auto known = passes_.find(one->name);
    if (known == passes_.end()) continue;  // nothing calls it
    const Passes around = known->second;
    for (const HloInstruction& each : one->instructions) call_from(module, each, around);
  }
}

void HloLoops::call(std::string_view computation, Passes passes) {
  auto [found, is_new] = passes_.try_emplace(std::string(computation), passes);
  if (is_new) return;
  Passes& so_far = found->second;
  so_far.times += passes.times;
  if (so_far.why.empty()) so_far.why = std::move(passes.why);
}

void HloLoops::call_from(const HloModule& module, const HloInstruction& caller,
                         const Passes& around) {
  if (caller.opcode == "while") {
    Passes inside = around;
    const auto its = passes_of_loop(module, caller);
    std::string why = its ? "" : its.error().message;
    if (its && around.times * *its > kMostPasses)
      why = fmt::format("with the loops around it, the loop has more than {} passes", kMostPasses);
    if (why.empty()) {
      inside.times *= *its;
    } else if (inside.why.empty()) {
      inside.why =
          fmt::format("the number of passes of the loop {} is unknown: {}", named(caller), why);
    }
    call(caller.attribute("body"), std::move(inside));
    return;
  }
  for (const char* key : {"calls", "to_apply"}) {
    if (const auto called = caller.attribute(key); !called.empty()) call(called, around);
  }
  for (const std::string_view branch : branches_of(caller)) call(branch, around);
}

Result<uint64_t> HloLoops::passes_of(const std::string& instruction) const {
  auto computation = computation_of_.find(instruction);
  auto passes =
      computation == computation_of_.end() ? passes_.end() : passes_.find(computation->second);
  if (passes == passes_.end())
    return failed(fmt::format("the program does not call '{}'", instruction));
  if (!passes->second.why.empty()) return failed(passes->second.why);
  return passes->second.times;
}

}  // namespace evolve::ir
