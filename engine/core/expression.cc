#include "engine/core/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>

#include "engine/core/text/did_you_mean.h"

namespace evolve {

struct Formula::Parser {
  mu::Parser parser;
  std::vector<double> values;  // never resized later: the parser's variables point into it
};

namespace {

constexpr size_t kLongestFormula = 1000;
constexpr std::array<const char*, 10> kReserved = {"abs",  "and", "cdiv", "ceil", "floor",
                                                   "log2", "max", "min",  "or",   "sqrt"};

double lowest(const double* values, int count) {
  return count == 0 ? std::nan("") : *std::min_element(values, values + count);
}
double highest(const double* values, int count) {
  return count == 0 ? std::nan("") : *std::max_element(values, values + count);
}
double cdiv(double a, double b) {
  return std::ceil(a / b);
}
double modulo(double a, double b) {
  return std::fmod(a, b);
}
double both(double a, double b) {
  return a != 0 && b != 0 ? 1 : 0;
}
double either(double a, double b) {
  return a != 0 || b != 0 ? 1 : 0;
}

void define_language(mu::Parser& parser) {
  parser.ClearFun();
  parser.ClearConst();
  parser.DefineFun("min", lowest);
  parser.DefineFun("max", highest);
  parser.DefineFun("cdiv", cdiv);
  parser.DefineFun("abs", [](double x) { return std::fabs(x); });
  parser.DefineFun("ceil", [](double x) { return std::ceil(x); });
  parser.DefineFun("floor", [](double x) { return std::floor(x); });
  parser.DefineFun("sqrt", [](double x) { return std::sqrt(x); });
  parser.DefineFun("log2", [](double x) { return std::log2(x); });
  parser.DefineOprt("%", modulo, mu::prMUL_DIV, mu::oaLEFT);
  parser.DefineOprt("and", both, mu::prLAND, mu::oaLEFT);
  parser.DefineOprt("or", either, mu::prLOR, mu::oaLEFT);
}

// Whether the text has a single '=', which muParser takes as an assignment.
bool has_assignment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    if (i + 1 < text.size() && text[i + 1] == '=') {
      ++i;
    } else if (i == 0 || std::string_view("<>!").find(text[i - 1]) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string in_formula(std::string_view text, const std::string& why) {
  return fmt::format("formula '{}': {}", text, why);
}

// Translates muParser's error into our words. muParser counts positions from 0, and a negative one
// means that the position is not known.
Error parse_error(std::string_view text, const mu::Parser::exception_type& error,
                  std::span<const std::string> names) {
  std::string token = error.GetToken();
  std::string at;
  if (error.GetPos() >= 0 && static_cast<size_t>(error.GetPos()) < text.size()) {
    at = fmt::format(" at column {}", error.GetPos() + 1);
  }
  switch (error.GetCode()) {
    case mu::ecUNASSIGNABLE_TOKEN: {
      std::vector<std::string> known(names.begin(), names.end());
      known.insert(known.end(), kReserved.begin(), kReserved.end());
      return bad_input(
          in_formula(text, fmt::format("unknown name '{}'{}", token, suggestion(token, known))));
    }
    case mu::ecUNEXPECTED_EOF: return bad_input(in_formula(text, "ends too early"));
    case mu::ecMISSING_PARENS: return bad_input(in_formula(text, "a ')' is missing"));
    case mu::ecTOO_FEW_PARAMS:
      return bad_input(in_formula(text, fmt::format("'{}' needs more arguments", token)));
    case mu::ecTOO_MANY_PARAMS:
      return bad_input(in_formula(text, fmt::format("'{}' has too many arguments", token)));
    default: break;
  }
  if (token.empty()) return bad_input(in_formula(text, "not a formula"));
  return bad_input(in_formula(text, fmt::format("unexpected '{}'{}", token, at)));
}

Result<Formula> parse_over(std::string_view text, const std::map<std::string, int64_t>& variables,
                           std::vector<int64_t>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) {
    names.push_back(name);
    values.push_back(value);
  }
  return Formula::parse(text, names);
}

}  // namespace

Result<Formula> Formula::parse(std::string_view text, std::span<const std::string> names) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return bad_input("the formula is empty");
  if (text.size() > kLongestFormula) {
    return bad_input(fmt::format("the formula has {} characters, at most {} are allowed",
                                 text.size(), kLongestFormula));
  }
  if (has_assignment(text))
    return bad_input(in_formula(text, "'=' is not a comparison; write '=='"));
  Formula formula;
  formula.text_ = text;
  formula.parser_ = std::make_shared<Parser>();
  mu::Parser& parser = formula.parser_->parser;
  std::vector<double>& values = formula.parser_->values;
  try {
    define_language(parser);
    // The values are 1, not 0, so that the trial evaluation below does not divide by zero.
    values.assign(names.size(), 1);
    for (size_t i = 0; i < names.size(); ++i) parser.DefineVar(names[i], &values[i]);
    parser.SetExpr(formula.text_);
    int count = 0;
    parser.Eval(count);
    if (count != 1) return bad_input(in_formula(text, "',' makes several values"));
  } catch (const mu::Parser::exception_type& error) {
    return parse_error(text, error, names);
  } catch (const std::exception& error) {
    return bad_input(in_formula(text, error.what()));
  }
  return formula;
}

Result<double> Formula::evaluate(std::span<const int64_t> values) const {
  if (values.size() != parser_->values.size()) {
    return internal_error(in_formula(
        text_, fmt::format("{} values for {} names", values.size(), parser_->values.size())));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > kExactLimit || values[i] < -kExactLimit) {
      return bad_input(in_formula(text_, fmt::format("{} is above 2^53 and not exact", values[i])));
    }
    parser_->values[i] = static_cast<double>(values[i]);
  }
  try {
    // The flags show a division by zero that a comparison would hide: 1 / 0 > 2 is true.
    std::feclearexcept(FE_DIVBYZERO | FE_INVALID);
    double value = parser_->parser.Eval();
    if (std::fetestexcept(FE_DIVBYZERO | FE_INVALID) != 0 || !std::isfinite(value)) {
      return bad_input(in_formula(text_, "the value is not finite; a division by zero?"));
    }
    return value;
  } catch (const std::exception& error) {
    return bad_input(in_formula(text_, error.what()));
  } catch (const mu::Parser::exception_type& error) {
    return parse_error(text_, error, {});
  }
}

Result<int64_t> Formula::whole(std::span<const int64_t> values) const {
  TRY_ASSIGN(auto value, evaluate(values));
  if (value != std::floor(value)) {
    return bad_input(in_formula(text_, fmt::format("expected a whole number, got {}", value)));
  }
  if (std::fabs(value) > static_cast<double>(kExactLimit)) {
    return bad_input(in_formula(text_, fmt::format("{} is above 2^53 and not exact", value)));
  }
  return static_cast<int64_t>(value);
}

Result<bool> Formula::holds(std::span<const int64_t> values) const {
  TRY_ASSIGN(auto value, evaluate(values));
  return value != 0;
}

Result<double> evaluate(std::string_view formula, const std::map<std::string, int64_t>& variables) {
  std::vector<int64_t> values;
  TRY_ASSIGN(auto parsed, parse_over(formula, variables, values));
  return parsed.evaluate(values);
}

Result<int64_t> evaluate_whole(std::string_view formula,
                               const std::map<std::string, int64_t>& variables) {
  std::vector<int64_t> values;
  TRY_ASSIGN(auto parsed, parse_over(formula, variables, values));
  return parsed.whole(values);
}

Result<bool> holds(std::string_view formula, const std::map<std::string, int64_t>& variables) {
  std::vector<int64_t> values;
  TRY_ASSIGN(auto parsed, parse_over(formula, variables, values));
  return parsed.holds(values);
}

bool is_reserved_name(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

}  // namespace evolve
