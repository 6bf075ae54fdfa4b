#include "engine/ir/readers/hlo_branches.h"

#include <fmt/format.h>

#include <algorithm>

namespace evolve::ir {

namespace {

struct Computation {
  CallCost cost;
  std::string conditional;    // the innermost around the computation
  bool has_cost = false;      // it calls an instruction of `costs`
  bool is_called = false;     // by any branch
  bool is_on_dearer = false;  // the dearer side calls it
  bool is_on_cheaper = false;
};

class Sides {
 public:
  Sides(const HloModule& module, const std::map<std::string, CallCost>& costs)
      : module_(module), costs_(costs) {}

  HloSides find() {
    // In the text, callers come last. So costs add up forwards, and sides are passed on backwards.
    const auto& all = module_.computations();
    for (const HloComputation& one : all) known_[one.name] = sum_of(one);
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
      if (one->is_entry) {
        Computation& entry = known_[one->name];
        entry.is_called = entry.is_on_dearer = entry.is_on_cheaper = true;
      }
      const Computation caller = known_[one->name];
      if (!caller.is_called) continue;
      for (const HloInstruction& each : one->instructions) pass_on(each, caller);
    }
    return std::move(out_);
  }

 private:
  Computation sum_of(const HloComputation& computation) {
    Computation out;
    const auto add = [&](const CallCost& cost) {
      out.cost.dearer += cost.dearer;
      out.cost.cheaper += cost.cheaper;
      out.has_cost = true;
    };
    for (const HloInstruction& each : computation.instructions) {
      if (auto its = costs_.find(each.name); its != costs_.end()) add(its->second);
      for (const std::string_view called : computations_called_by(each)) {
        if (const Computation* one = find(called); one != nullptr && one->has_cost) add(one->cost);
      }
      const auto branches = known_branches(each);
      const bool has_cost = std::any_of(branches.begin(), branches.end(),
                                        [](const Computation* one) { return one->has_cost; });
      if (has_cost) add({dearest(branches)->cost.dearer, cheapest(branches)->cost.cheaper});
    }
    return out;
  }

  // Notes the sides on which an instruction runs, and passes the sides on to the computations that
  // it calls.
  void pass_on(const HloInstruction& instruction, const Computation& caller) {
    if (!caller.conditional.empty()) out_.conditionals[instruction.name] = caller.conditional;
    if (!caller.is_on_dearer) out_.left_out_of_dearer.insert(instruction.name);
    if (!caller.is_on_cheaper) out_.left_out_of_cheaper.insert(instruction.name);
    const auto call = [&](Computation& one, bool is_on_dearer, bool is_on_cheaper) {
      one.is_called = true;
      one.is_on_dearer = one.is_on_dearer || is_on_dearer;
      one.is_on_cheaper = one.is_on_cheaper || is_on_cheaper;
      if (one.conditional.empty()) one.conditional = caller.conditional;
    };
    for (const std::string_view called : computations_called_by(instruction)) {
      if (Computation* one = find(called)) call(*one, caller.is_on_dearer, caller.is_on_cheaper);
    }
    const auto branches = known_branches(instruction);
    if (branches.empty()) return;
    const Computation* dearer = dearest(branches);
    const Computation* cheaper = cheapest(branches);
    for (Computation* one : branches) {
      one->conditional = named(instruction);
      call(*one, caller.is_on_dearer && one == dearer, caller.is_on_cheaper && one == cheaper);
    }
    const bool has_cost = std::any_of(branches.begin(), branches.end(),
                                      [](const Computation* one) { return one->has_cost; });
    if (has_cost) out_.on_data.push_back(named(instruction));
  }

  [[nodiscard]] Computation* find(std::string_view name) {
    auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] std::vector<Computation*> known_branches(const HloInstruction& instruction) {
    std::vector<Computation*> out;
    for (const std::string_view name : branches_of(instruction)) {
      if (Computation* one = find(name)) out.push_back(one);
    }
    return out;
  }

  static const Computation* dearest(const std::vector<Computation*>& of) {
    return *std::max_element(of.begin(), of.end(), [](const auto* a, const auto* b) {
      return a->cost.dearer < b->cost.dearer;
    });
  }

  static const Computation* cheapest(const std::vector<Computation*>& of) {
    return *std::min_element(of.begin(), of.end(), [](const auto* a, const auto* b) {
      return a->cost.cheaper < b->cost.cheaper;
    });
  }

  const HloModule& module_;
  const std::map<std::string, CallCost>& costs_;
  std::map<std::string, Computation, std::less<>> known_;
  HloSides out_;
};

}  // namespace

std::vector<std::string_view> branches_of(const HloInstruction& instruction) {
  std::vector<std::string_view> out;
  if (instruction.opcode != "conditional") return out;
  for (const char* key : {"true_computation", "false_computation"}) {
    if (const auto called = instruction.attribute(key); !called.empty()) out.push_back(called);
  }
  // The attribute is a list such as "{%first, %second}".
  std::string_view branches = instruction.attribute("branch_computations");
  while (!branches.empty()) {
    branches.remove_prefix(std::min(branches.find_first_not_of("{},% "), branches.size()));
    const size_t end = std::min(branches.find_first_of("}, "), branches.size());
    if (end > 0) out.push_back(branches.substr(0, end));
    branches.remove_prefix(end);
  }
  return out;
}

std::vector<std::string_view> computations_called_by(const HloInstruction& instruction) {
  std::vector<std::string_view> out;
  for (const char* key : {"body", "calls", "to_apply"}) {
    if (const auto called = instruction.attribute(key); !called.empty()) out.push_back(called);
  }
  return out;
}

std::string named(const HloInstruction& instruction) {
  const HloSource source = source_of(instruction);
  if (source.file.empty()) return fmt::format("'{}'", instruction.name);
  const std::string file = source.file.substr(source.file.rfind('/') + 1);
  return fmt::format("'{}' ({}:{})", instruction.name, file, source.line);
}

HloSides sides_of(const HloModule& module, const std::map<std::string, CallCost>& costs) {
  return Sides(module, costs).find();
}

}  // namespace evolve::ir
