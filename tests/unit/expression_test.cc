#include "engine/core/expression.h"

#include "tests/catch.h"

using evolve::evaluate;
using evolve::evaluate_whole;
using evolve::holds;

namespace {

const std::map<std::string, int64_t> dims = {{"M", 4096}, {"N", 14336}, {"K", 1450}};

double value(std::string_view formula) {
  auto result = evaluate(formula, dims);
  INFO(formula);
  REQUIRE(result);
  return *result;
}

std::string error(std::string_view formula) {
  auto result = evaluate(formula, dims);
  return result ? "no error" : result.error().message;
}

}  // namespace

TEST_CASE("formulas have the usual arithmetic") {
  CHECK(value("2 * M * N * K") == 2.0 * 4096 * 14336 * 1450);
  CHECK(value("M + N * 2 - 1") == 4096 + 28672 - 1);
  CHECK(value("K % 128") == 1450 % 128);
  CHECK(value("2 * K % 128") == 2900 % 128);
  CHECK(value("M / 3 * 3") == Approx(4096));
  CHECK(value("2 ^ 10") == 1024);
  CHECK(value("-M") == -4096);
  CHECK(value("1e3 + 0.5") == 1000.5);
}

TEST_CASE("formulas have min, max, cdiv and rounding") {
  CHECK(value("min(M, N, K)") == 1450);
  CHECK(value("max(M, N)") == 14336);
  CHECK(value("cdiv(K, 512)") == 3);
  CHECK(value("cdiv(1024, 512)") == 2);
  CHECK(value("floor(K / 512) + ceil(0.2) + abs(-1)") == 4);
  CHECK(value("log2(M) + sqrt(M)") == 76);
}

TEST_CASE("conditions join by && and ||, or by and and or") {
  CHECK(*holds("M >= 4096 && N > M", dims));
  CHECK(*holds("M >= 4096 and N > M", dims));
  CHECK(*holds("M < 0 or N > M", dims));
  CHECK(*holds("M < 0 || N > M", dims));
  CHECK_FALSE(*holds("M < 0 and N > M or K == 1", dims));
  CHECK(*holds("N > M or M < 0 and K == 1", dims));
  CHECK(*holds("K % 2 == 0 && M != N", dims));
  CHECK(value("M > N ? 1 : 2") == 2);
}

TEST_CASE("an unknown name offers the nearest one") {
  std::map<std::string, int64_t> parameters = {{"BLOCK_M", 1}, {"BLOCK_N", 1}};
  auto result = evaluate("BLOCK_M * BLOK_N", parameters);
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "formula 'BLOCK_M * BLOK_N': unknown name 'BLOK_N', did you mean 'BLOCK_N'?");
  CHECK(result.error().code == evolve::ErrorCode::bad_input);
  CHECK(error("cdif(M, 2)") == "formula 'cdif(M, 2)': unknown name 'cdif', did you mean 'cdiv'?");
}

TEST_CASE("a text that is not a formula is refused") {
  CHECK(error("") == "the formula is empty");
  CHECK(error("  ") == "the formula is empty");
  CHECK(error("2 * * M") == "formula '2 * * M': unexpected '*' at column 5");
  CHECK(error("2 *") == "formula '2 *': ends too early");
  CHECK(error("(M + N") == "formula '(M + N': a ')' is missing");
  CHECK(error("M = 3") == "formula 'M = 3': '=' is not a comparison; write '=='");
  CHECK(error("M, N") == "formula 'M, N': ',' makes several values");
  CHECK(error("cdiv(M)") == "formula 'cdiv(M)': 'cdiv' needs more arguments");
  CHECK(error("cdiv(1, 2, 3)") == "formula 'cdiv(1, 2, 3)': 'cdiv' has too many arguments");
  CHECK(error("'M'").starts_with("formula ''M'': "));
  CHECK(error("\"M\"").starts_with("formula '\"M\"': "));
  CHECK(error("min()").starts_with("formula 'min()': "));
  CHECK(error("M $ 2").starts_with("formula 'M $ 2': "));
  CHECK(error(std::string(1001, '1')) ==
        "the formula has 1001 characters, at most 1000 are allowed");
  CHECK(error(std::string(900, '(') + "1" + std::string(90, ')')).find("a ')' is missing") !=
        std::string::npos);
}

TEST_CASE("a value that is not finite is an error") {
  CHECK(error("M / 0") == "formula 'M / 0': the value is not finite; a division by zero?");
  CHECK(error("M % 0") == "formula 'M % 0': the value is not finite; a division by zero?");
  CHECK(error("M / (N - N) > 1") ==
        "formula 'M / (N - N) > 1': the value is not finite; a division by zero?");
  CHECK(error("M % (N - N) == 0") ==
        "formula 'M % (N - N) == 0': the value is not finite; a division by zero?");
}

TEST_CASE("whole numbers are exact or an error") {
  CHECK(*evaluate_whole("M * N", dims) == 58720256);
  CHECK(*evaluate_whole("2 ^ 53", dims) == evolve::kExactLimit);
  CHECK(evaluate_whole("K / 4", dims).error().message ==
        "formula 'K / 4': expected a whole number, got 362.5");
  CHECK(evaluate_whole("2 ^ 53 * 2", dims).error().message ==
        "formula '2 ^ 53 * 2': 1.8014398509481984e+16 is above 2^53 and not exact");
  CHECK_FALSE(evaluate_whole("x", {{"x", evolve::kExactLimit + 1}}));
}

TEST_CASE("a parsed formula is evaluated for many values") {
  std::vector<std::string> names = {"a", "b"};
  auto formula = evolve::Formula::parse("a * b <= 12", names);
  REQUIRE(formula);
  std::vector<int64_t> low = {3, 4}, high = {3, 5}, few = {3};
  CHECK(*formula->holds(low));
  CHECK_FALSE(*formula->holds(high));
  CHECK(formula->evaluate(few).error().code == evolve::ErrorCode::internal);
}

TEST_CASE("words of the formulas are reserved") {
  CHECK(evolve::is_reserved_name("min"));
  CHECK(evolve::is_reserved_name("and"));
  CHECK_FALSE(evolve::is_reserved_name("M"));
}
