// The proof that look-alike passes of a loop go on alike, and for how many passes. It lets the
// simulator add up a loop in steady state instead of walking it.
//
// The values at the start of a pass are supposed to grow evenly: the value in pass m is x + m·g,
// modulo 2^32. One pass is followed instruction by instruction. Each result grows evenly, too, as
// long as (1) the operation is linear in what grows, or (2) what grows does not cross a border: a
// comparison keeps its outcome, a quotient its value. The nearest border bounds the number of
// passes. Suppose that the growths at the end of the pass are those at its start, and that the
// values are x + g. Then, by induction, every pass up to that bound takes the same way.
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

  // Returns how many more passes are like this one; 0 if that cannot be said.
  [[nodiscard]] uint64_t passes() const;

 private:
  [[nodiscard]] uint32_t of(const Operand& operand) const;
  void set(const Instruction& one, uint32_t growth);
  void need_constant(const Operand& operand);
  void bound(uint64_t passes);
  uint32_t result_of(const Instruction& one, const Seen& seen);
  uint32_t of_arithmetic(const Instruction& one, Value a, Value b);
  void compare(Op op, uint32_t a, uint32_t b, uint32_t growth_a, uint32_t growth_b);
  // Returns the growth of the quotient by a constant. The remainder grows by the rest.
  uint32_t of_quotient(int64_t value, int64_t growth, int64_t divisor, bool is_signed);

  Growths now_;
  Growths start_;
  uint64_t bound_ = UINT64_MAX;
};

}  // namespace evolve::ir
