// Formulas over whole numbers, as a spec writes them: "2 * M * N * K",
// "BLOCK_M * BLOCK_N >= 65536". No other code includes muParser. Errors do not name the place of a
// formula in the spec, because this code does not know it.
//
// A formula has numbers, names, ( ), + - * / % ^, comparisons, && || (or: and, or), a ? b : c, and
// the functions min, max, cdiv, abs, ceil, floor, sqrt, log2. `/` is the exact quotient; cdiv(a, b)
// is the quotient rounded up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace evolve {

// Some whole numbers above this limit are not exact in a double.
constexpr int64_t kExactLimit = int64_t{1} << 53;

// A formula that is parsed once and evaluated often. Two threads must not use a formula at the same
// time.
class Formula {
 public:
  // Parses a formula in which `names` may occur. Bad input: an empty formula, a syntax error, an
  // unknown name (the message offers the nearest known name), `=` for `==`, several values, or more
  // than 1000 characters.
  static Result<Formula> parse(std::string_view text, std::span<const std::string> names);

  // Returns the formula's value. `values` has the values of the names, in the order of the names.
  // Bad input: a value that is not finite, a division by zero anywhere in the formula, or a name's
  // value above 2^53 or below -2^53.
  [[nodiscard]] Result<double> evaluate(std::span<const int64_t> values) const;
  // The same as evaluate(), but the value must be a whole number from -2^53 to 2^53.
  [[nodiscard]] Result<int64_t> whole(std::span<const int64_t> values) const;
  // Whether evaluate() returns a value other than 0.
  [[nodiscard]] Result<bool> holds(std::span<const int64_t> values) const;

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Parser;
  std::string text_;
  std::shared_ptr<Parser> parser_;
};

// These functions parse and evaluate a formula in one call.
Result<double> evaluate(std::string_view formula, const std::map<std::string, int64_t>& variables);
Result<int64_t> evaluate_whole(std::string_view formula,
                               const std::map<std::string, int64_t>& variables);
Result<bool> holds(std::string_view formula, const std::map<std::string, int64_t>& variables);

// Whether a name has a fixed meaning in every formula ("min", "and"). A variable must not have a
// reserved name.
bool is_reserved_name(std::string_view name);

}  // namespace evolve
