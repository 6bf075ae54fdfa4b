// The proof that equal passes of a loop stay equal, and for how many passes. With this proof, the
// simulator can add up a loop in steady state instead of walking it.
//
// The proof assumes that the values at the start of a pass grow evenly: the value in pass m is x +
// m·g, modulo 2^32. One pass is followed instruction by instruction. The result of an instruction
// also grows evenly in two cases: (1) the operation is linear in the values that grow, or (2) the
// values that grow do not cross a border. Within its borders, a comparison keeps its outcome, and a
// quotient keeps its value. The nearest border bounds the number of passes. Suppose that at the end
// of the pass the growths are the same as at its start, and the values are x + g. Then, by
// induction, every pass up to the bound takes the same path.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/ir/model/alu.h"
#include "engine/ir/readers/schedule.h"

namespace evolve::ir {

// The growth of each value from pass to pass. A value that is not known does not grow.
struct Growths {
  std::vector<uint32_t> slots;
  std::vector<uint32_t> registers;
  std::unordered_map<uint32_t, uint32_t> smem;  // by address; other addresses do not grow
  bool operator==(const Growths&) const = default;
};

class Growth {
 public:
  explicit Growth(Growths at_start) : now_(std::move(at_start)), start_(now_) {}

  // The values that an instruction reads, before it is executed.
  struct Seen {
    std::optional<bool> runs;       // whether its predicate holds; nullopt: not known
    std::array<Value, 3> operands;  // the first of the instruction's operands
  };
  void see(const Instruction& one, const Seen& seen);

  // Returns how many more passes are like this one; 0: none, or the number is not known.
  [[nodiscard]] uint64_t passes() const;

 private:
  [[nodiscard]] uint32_t of(const Operand& operand) const;
  void set(const Instruction& one, uint32_t growth);
  void need_constant(const Operand& operand);
  void bound(uint64_t passes);
  uint32_t result_of(const Instruction& one, const Seen& seen);
  uint32_t of_arithmetic(const Instruction& one, Value a, Value b);
  void compare(Op op, uint32_t a, uint32_t b, uint32_t growth_a, uint32_t growth_b);
  // Returns the growth of a quotient by a constant. Bounds the passes to those with this growth.
  uint32_t of_quotient(int64_t value, int64_t growth, int64_t divisor, bool is_signed);

  Growths now_;
  Growths start_;
  uint64_t bound_ = UINT64_MAX;
};

}  // namespace evolve::ir
