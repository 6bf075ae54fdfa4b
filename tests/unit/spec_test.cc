#include "engine/campaign/spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/catch.h"

using evolve::parse_spec;
using evolve::Spec;

namespace {

// Tests replace lines of this spec, to break it in one place at a time.
constexpr const char* kSpec = R"(name: matmul
formula: out = x @ y
entry: matmul
dimensions: [M, N, K]
inputs:
  x: { shape: [M, K], dtype: bfloat16 }
  y: { shape: [K, N], dtype: bfloat16 }
outputs:
  out: { shape: [M, N], dtype: float32 }
cases:
  - { name: square, dims: { M: 4096, N: 4096, K: 4096 }, tags: [bench], weight: 2 }
  - { name: ragged, dims: { M: 100, N: 70, K: 30 }, tags: [check, ci] }
tolerance: { rtol: 1e-2, atol: 1e-3, max_error_ratio: 1.5 }
parameters:
  BLOCK_M: { values: [512, 128, 256] }
  BLOCK_N: { range: { from: 128, to: 1024, times: 2 } }
  STAGES: { range: { from: 1, to: 4, step: 1 } }
constraints:
  - BLOCK_M * BLOCK_N <= 262144
cost:
  flops: 2 * M * N * K
  bytes: 2 * (M * K + K * N) + 4 * M * N
)";

Spec parsed(const std::string& text) {
  auto result = parse_spec(text, "s.yaml");
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kSpec;
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Returns the error of the spec with one piece of text replaced.
std::string error(const std::string& from, const std::string& to) {
  auto result = parse_spec(with(from, to), "s.yaml");
  if (result) return "no error";
  CHECK(result.error().code == evolve::ErrorCode::bad_input);
  CHECK_FALSE(result.error().detail.empty());
  return result.error().message;
}

}  // namespace

TEST_CASE("a spec is read") {
  Spec spec = parsed(kSpec);
  CHECK(spec.name == "matmul");
  CHECK(spec.formula == "out = x @ y");
  CHECK(spec.entry == "matmul");
  CHECK(spec.dimensions == std::vector<std::string>{"M", "N", "K"});
  REQUIRE(spec.inputs.size() == 2);
  CHECK(spec.inputs[1].name == "y");
  CHECK(spec.inputs[1].shape == std::vector<std::string>{"K", "N"});
  CHECK(spec.outputs[0].dtype == "float32");
  REQUIRE(spec.cases.size() == 2);
  CHECK(spec.cases[0].weight == 2);
  CHECK(spec.cases[1].weight == 1);
  CHECK(spec.cases[1].dims.at("N") == 70);
  CHECK(spec.cases[1].has_tag("ci"));
  CHECK_FALSE(spec.cases[1].has_tag("bench"));
  CHECK(spec.tolerance.atol == 0.001);
  CHECK(spec.constraints == std::vector<std::string>{"BLOCK_M * BLOCK_N <= 262144"});
  CHECK(spec.cost.flops == "2 * M * N * K");
}

TEST_CASE("a parameter's values are listed or a range, and sorted") {
  Spec spec = parsed(kSpec);
  REQUIRE(spec.parameters.size() == 3);
  CHECK(spec.parameters[0].values == std::vector<int64_t>{128, 256, 512});
  CHECK(spec.parameters[1].values == std::vector<int64_t>{128, 256, 512, 1024});
  CHECK(spec.parameters[2].values == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("the JSON files of a spec are canonical") {
  Spec spec = parsed(kSpec);
  CHECK(
      signature_json(spec, spec.cases[1]) ==
      "{\n  \"inputs\": [\n    {\n      \"dtype\": \"bfloat16\",\n      \"name\": \"x\",\n      "
      "\"shape\": [\n"
      "        100,\n        30\n      ]\n    },\n    {\n      \"dtype\": \"bfloat16\",\n      "
      "\"name\": \"y\",\n"
      "      \"shape\": [\n        30,\n        70\n      ]\n    }\n  ],\n  \"name\": \"matmul\",\n"
      "  \"outputs\": [\n    {\n      \"dtype\": \"float32\",\n      \"name\": \"out\",\n      "
      "\"shape\": [\n"
      "        100,\n        70\n      ]\n    }\n  ]\n}\n");
  CHECK(tolerance_json(spec) ==
        "{\n  \"atol\": 0.001,\n  \"max_error_ratio\": 1.5,\n  \"rtol\": 0.01\n}\n");
  CHECK(cost_json(spec, spec.cases[1]) ==
        "{\n  \"bytes\": 38200,\n  \"dims\": {\n    \"K\": 30,\n    \"M\": 100,\n    \"N\": 70\n  "
        "},\n"
        "  \"flops\": 420000\n}\n");
  std::string layout =
      "# a comment\n" + with("formula: out = x @ y", "formula:   \"out = x @ y\"   # comment");
  CHECK(spec_json(parsed(layout)) == spec_json(spec));
  CHECK(spec_json(parsed(with("weight: 2", "weight: 3"))) != spec_json(spec));
}

TEST_CASE("a size may be a formula over the dimensions") {
  Spec spec = parsed(with("x: { shape: [M, K]", "x: { shape: [\"cdiv(M, 64)\", 2 * K]"));
  CHECK(signature_json(spec, spec.cases[1]).find("\"shape\": [\n        2,\n        60\n      ]") !=
        std::string::npos);
}

TEST_CASE("an input's range is a formula over the dimensions, and not empty") {
  const std::string ranged =
      with("x: { shape: [M, K]", "x: { range: [\"-0.5\", \"K / 4\"], shape: [M, K]");
  CHECK(signature_json(parsed(ranged), parsed(ranged).cases[1])
            .find("\"range\": [\n        -0.5,\n        7.5\n      ]") != std::string::npos);
  CHECK(error("x: { shape: [M, K]", "x: { range: [1], shape: [M, K]") ==
        "s.yaml:6:15: inputs.x.range: expected the least and the largest value");
  CHECK(error("x: { shape: [M, K]", "x: { range: [1, 0], shape: [M, K]")
            .find("the range of 'x' is empty") != std::string::npos);
  CHECK(error("x: { shape: [M, K]", "x: { range: [0, L], shape: [M, K]")
            .find("unknown dimension 'L'") != std::string::npos);
}

TEST_CASE("whole numbers say their range, and may say a sum, an order, or that they are distinct") {
  const std::string input = "x: { shape: [M, K], dtype: bfloat16 }";
  auto whole = [&](const std::string& more) {
    return with(input, fmt::format("x: {{ shape: [M, K], dtype: int32{} }}", more));
  };
  auto said = [&](const std::string& more) {
    return error(input, fmt::format("x: {{ shape: [M, K], dtype: int32{} }}", more));
  };
  CHECK(said("").find("inputs.x.range: an input of whole numbers needs a range of values, for "
                      "example 'range: [0, K - 1]'") != std::string::npos);
  const std::string text = whole(", range: [0, M], sum: M, are: [sorted]");
  const std::string signature = signature_json(parsed(text), parsed(text).cases[0]);
  CHECK(signature.find("\"are\": [\n        \"sorted\"\n      ]") != std::string::npos);
  CHECK(signature.find("\"sum\": ") != std::string::npos);
  CHECK(said(", range: [0, 1], sum: M * K + 1").find("values in the range of 'x' have the sum") !=
        std::string::npos);
  CHECK(said(", range: [0, 1], are: [distinct]").find("distinct values, but its range has 2") !=
        std::string::npos);
  CHECK(
      said(", range: [0, K], are: [sortd]").find("unknown word 'sortd', did you mean 'sorted'?") !=
      std::string::npos);
  CHECK(said(", range: [0, K], sum: L").find("unknown dimension 'L'") != std::string::npos);
  CHECK(said(", range: [0, K], sum: K, are: [distinct]").find("can be distinct") !=
        std::string::npos);
  CHECK(error(input, "x: { shape: [M, K], dtype: bfloat16, sum: K }")
            .find("only an input of whole numbers can have a sum") != std::string::npos);
}

TEST_CASE("an input of whole numbers may be a formula over the inputs before it") {
  const std::string input = "x: { shape: [M, K], dtype: bfloat16 }";
  auto after = [&](const std::string& more) {
    return with(input, input + fmt::format("\n  ids: {{ shape: [M], {} }}", more));
  };
  const std::string text = after("dtype: int32, values: \"argsort(sum(x)) // 2\"");
  const std::string signature = signature_json(parsed(text), parsed(text).cases[0]);
  CHECK(signature.find("\"text\": \"argsort(sum(x)) // 2\"") != std::string::npos);
  auto said = [&](const std::string& more) {
    auto spec = parse_spec(after(more), "spec.yaml");
    return spec ? "no error" : spec.error().message;
  };
  CHECK(said("dtype: int32, values: \"cumsom(x)\"")
            .find("unknown name 'cumsom', did you mean 'cumsum'?") != std::string::npos);
  CHECK(said("dtype: int32, values: \"ids + 1\"").find("unknown name 'ids'") != std::string::npos);
  for (const char* more : {"dtype: int32, range: [0, 1], values: \"arange(M)\"",
                           "dtype: float32, values: \"arange(M)\""})
    CHECK(said(more).find("only an input of whole numbers can have a formula") !=
          std::string::npos);
}

TEST_CASE("gradients are outputs, and their cotangents inputs, of the judge's own") {
  const std::string text = with("tolerance:", "gradients: [y]\ntolerance:");
  Spec spec = parsed(text);
  const std::string signature = signature_json(spec, spec.cases[1]);
  CHECK(signature.find("\"gradients\": [\n    1\n  ]") != std::string::npos);
  CHECK(signature.find("\"name\": \"d_out\"") < signature.find("\"outputs\""));
  CHECK(signature.find("\"name\": \"d_y\"") > signature.find("\"outputs\""));
  CHECK(error("tolerance:", "gradients: [z]\ntolerance:") ==
        "s.yaml:13:13: gradients: 'z' is not a floating-point input");
}

TEST_CASE("with gradients the call alone is a case of its own, with its own cost") {
  const std::string text = with("tolerance:", "gradients: [y]\ntolerance:");
  const Spec spec = parsed(text);
  const size_t written = spec.cases.size() / 2;
  const evolve::Case& whole = spec.cases[1];
  const evolve::Case& forward = spec.cases[1 + written];
  CHECK(forward.name == whole.name + "-forward");
  CHECK(forward.tags == whole.tags);
  const Spec plain = parsed(kSpec);
  CHECK(signature_json(spec, forward) == signature_json(plain, plain.cases[1]));
  // The spec does not give the cost of the forward case. The case has to write 100 x 70 numbers of
  // four bytes, with any number of operations.
  CHECK(cost_json(spec, forward).find("\"bytes\": 28000") != std::string::npos);
  CHECK(cost_json(spec, forward).find("\"flops\": 0") != std::string::npos);
  CHECK(terms_json(spec, forward).find("\"min_flops\": 0.0") != std::string::npos);
  CHECK(terms_json(spec, forward).find("\"flops\": 420000") != std::string::npos);

  std::string said = text;
  said += "\n  forward: { flops: M * N, bytes: K }\n";
  CHECK(cost_json(parsed(said), forward).find("\"flops\": 7000") != std::string::npos);
  CHECK(terms_json(parsed(said), forward).find("\"min_flops\": 0.75") != std::string::npos);
  CHECK(cost_json(parsed(said), whole) == cost_json(spec, whole));

  Spec timed = spec;
  const std::string first = spec.cases[0].name;
  REQUIRE(time_only(timed, {first}));
  size_t benches = 0;
  for (const evolve::Case& one : timed.cases) benches += one.has_tag("bench") ? 1 : 0;
  CHECK(benches == 2);
}

TEST_CASE("what a kernel may import is part of a signature where a spec says it") {
  const std::string text = with("tolerance:", "contract: { imports: [json] }\ntolerance:");
  CHECK(signature_json(parsed(text), parsed(text).cases[1])
            .find("\"imports\": [\n    \"json\"\n  ]") != std::string::npos);
  CHECK(signature_json(parsed(kSpec), parsed(kSpec).cases[1]).find("imports") == std::string::npos);
}

TEST_CASE("a contract has defaults, of the inputs' own dtype") {
  Spec spec = parsed(kSpec);
  CHECK(terms_json(spec, spec.cases[1]) ==
        "{\n  \"accumulator\": \"float32\",\n  \"flops\": 420000,\n  \"is_operand_said\": false,\n"
        "  \"is_timed\": false,\n"
        "  \"max_constant_bytes\": 1048576,\n"
        "  \"max_outside_flops\": 0.05,\n  \"min_flops\": 0.75,\n  \"operand\": \"bfloat16\",\n"
        "  \"outside\": [],\n"
        "  \"precision\": \"default\"\n}\n");
  const std::string text =
      with("tolerance:", "contract: { min_flops: 0.5, operand: float32 }\ntolerance:");
  CHECK(parsed(text).contract.min_flops == 0.5);
  CHECK(parsed(text).contract.operand == "float32");
  CHECK(parsed(with("tolerance:", "contract: { outside: [sorts, loops] }\ntolerance:"))
            .contract.outside == std::vector<std::string>{"sorts", "loops"});
  CHECK(error("tolerance:", "contract: { outside: [sort] }\ntolerance:") ==
        "s.yaml:13:23: outside: unknown word 'sort', did you mean 'sorts'?");
  CHECK(error("tolerance:", "contract: { operand: int8 }\ntolerance:").find("operand") !=
        std::string::npos);
}

TEST_CASE("unknown names in a spec offer the nearest one") {
  CHECK(error("tolerance:", "tolerence:") ==
        "s.yaml:13:1: unknown key 'tolerence', did you mean 'tolerance'?");
  CHECK(error("shape: [M, K]", "shape: [M, X]") ==
        "s.yaml:6:19: unknown dimension 'X'; known: M, N, K");
  CHECK(error("dtype: float32", "dtype: float23") ==
        "s.yaml:9:32: outputs.out.dtype: unknown dtype 'float23', did you mean 'float32'?");
  CHECK(error("tags: [bench]", "tags: [bnech]") ==
        "s.yaml:11:65: unknown tag 'bnech', did you mean 'bench'?");
  CHECK(error("BLOCK_M * BLOCK_N", "BLOCK_X * BLOCK_N") ==
        "s.yaml:19:5: formula 'BLOCK_X * BLOCK_N <= 262144': unknown name 'BLOCK_X', did you mean "
        "'BLOCK_M'?");
  CHECK(error("2 * M * N * K", "2 * M * N * Q") ==
        "s.yaml:21:10: cost.flops: formula '2 * M * N * Q': unknown name 'Q'; known: M, N, K, abs, "
        "and, cdiv, ceil, floor and 5 more");
  CHECK(error("N: 70,", "n: 70,") == "s.yaml:12:37: unknown dimension 'n', did you mean 'N'?");
}

TEST_CASE("the excerpt of a spec's error shows the line") {
  auto result = parse_spec(with("shape: [M, K]", "shape: [M, X]"), "s.yaml");
  REQUIRE_FALSE(result);
  CHECK(result.error().detail ==
        "    6 |   x: { shape: [M, X], dtype: bfloat16 }\n"
        "      |                   ^");
}

TEST_CASE("cases are validated") {
  CHECK(error("name: ragged", "name: square") == "s.yaml:12:13: case 'square' appears twice");
  CHECK(error("name: ragged", "name: ../up") ==
        "s.yaml:12:13: case '../up': only letters, digits, '_' and '-' are allowed in a name");
  CHECK(error("N: 70, ", "") == "s.yaml:12:21: case 'ragged' has no dimension 'N'");
  CHECK(error("N: 70,", "N: 0,")
            .starts_with("s.yaml:12:40: dims.N: expected a whole number of at least 1, got '0'"));
  CHECK(error("tags: [check, ci]", "tags: [ci]") ==
        "s.yaml:12:53: case 'ragged' needs one of the tags 'bench' and 'check'");
  CHECK(error("tags: [bench], weight: 2", "tags: [check]") ==
        "s.yaml:10:1: no case has the tag 'bench'");
  CHECK(error("weight: 2", "weight: 0") ==
        "s.yaml:11:81: case 'square': the weight must be above 0");
  CHECK(error("weight: 2", "weight: 1e308") ==
        "s.yaml:11:81: case 'square': the weight must be at most 1000000");
  CHECK(parsed(with("weight: 2", "weight: 1e6")).cases[0].weight == 1e6);
  CHECK(error("  - { name: ragged, dims: { M: 100, N: 70, K: 30 }, tags: [check, ci] }\n", "") ==
        "s.yaml:10:1: no case has the tag 'check'");
  CHECK(error("x: { shape: [M, K]", "x: { shape: [M - 100, K]") ==
        "s.yaml:12:5: case 'ragged': the shape of 'x' is invalid: 'M - 100' is 0");
}

TEST_CASE("what is timed and small is checked, too") {
  const Spec large = parsed(kSpec);
  CHECK_FALSE(is_checked(large, large.cases[0]));
  CHECK(is_checked(large, large.cases[1]));
  CHECK(nlohmann::json::parse(spec_json(large))["cases"][0]["tags"] == nlohmann::json({"bench"}));

  const Spec small = parsed(with("M: 4096, N: 4096, K: 4096", "M: 64, N: 64, K: 16"));
  CHECK(is_checked(small, small.cases[0]));
  CHECK(nlohmann::json::parse(spec_json(small))["cases"][0]["tags"] ==
        nlohmann::json({"bench", "check"}));

  // A checked case has at most 2 * 1024^3 operations. `wide` has fewer operations, but more bytes
  // than a checked case may have.
  const Spec most = parsed(with("M: 4096, N: 4096, K: 4096", "M: 1024, N: 1024, K: 1024"));
  CHECK(is_checked(most, most.cases[0]));
  const Spec wide = parsed(with("M: 4096, N: 4096, K: 4096", "M: 16384, N: 8192, K: 1"));
  CHECK_FALSE(is_checked(wide, wide.cases[0]));

  // A case that moves a small part of large arrays counts as large, because a check reads whole
  // arrays.
  Spec little = wide;
  little.cost.bytes = "M";
  CHECK_FALSE(is_checked(little, little.cases[0]));

  const Spec parts = parsed(with("M: 4096, N: 4096, K: 4096 }, tags: [bench]",
                                 "M: 64, N: 64, K: 16 }, tags: [bench, parts]"));
  CHECK_FALSE(is_checked(parts, parts.cases[0]));
  CHECK(error("tags: [bench], weight: 2", "tags: [bench, check, parts], weight: 2")
            .find("the tag 'parts' needs the tag 'bench', and excludes the tag 'check'") !=
        std::string::npos);

  const Spec both = parsed(with("tags: [bench], weight: 2", "tags: [bench, check], weight: 2"));
  CHECK(is_checked(both, both.cases[0]));
}

TEST_CASE("parameters are validated") {
  CHECK(error("{ values: [512, 128, 256] }", "{ values: [] }") ==
        "s.yaml:15:22: parameter 'BLOCK_M' has no values");
  CHECK(error("{ values: [512, 128, 256] }", "{}") ==
        "s.yaml:15:3: missing key 'values' in 'parameters.BLOCK_M'");
  CHECK(error("[512, 128, 256]", "[512, 128, 512]") ==
        "s.yaml:15:22: parameter 'BLOCK_M' has the value 512 twice");
  CHECK(error("[512, 128, 256]", "[512, x]") ==
        "s.yaml:15:28: parameters.BLOCK_M.values: expected whole numbers, got 'x'");
  CHECK(error("from: 1, to: 4", "from: 5, to: 4") ==
        "s.yaml:17:13: parameter 'STAGES' has no values: 5 is above 4");
  CHECK(error("to: 4, step: 1", "to: 4") ==
        "s.yaml:17:13: parameter 'STAGES': a range needs one of 'step' and 'times'");
  CHECK(error("to: 4,", "to: 100000,") ==
        "s.yaml:17:13: parameter 'STAGES': the range has more than 1000 values");
  CHECK(error("from: 128, to", "from: 0, to") ==
        "s.yaml:16:14: parameter 'BLOCK_N': a range with 'times' must start at 1 or above");
  CHECK(error("  STAGES:", "  min:") == "s.yaml:17:3: parameter: 'min' is reserved for formulas");
  CHECK(error("  STAGES:", "  ST-AGES:") ==
        "s.yaml:17:3: parameter: 'ST-AGES' is not a Python name");
}

TEST_CASE("constraints have a verdict everywhere, and allow something") {
  CHECK(error("<= 262144", "<= 16") ==
        "s.yaml:18:1: constraints: no values of the parameters meet all constraints");
  CHECK(error("BLOCK_M * BLOCK_N <= 262144", "BLOCK_M / (STAGES - 4) < 1") ==
        "s.yaml:18:1: formula 'BLOCK_M / (STAGES - 4) < 1': the value is not finite; a division by "
        "zero? with "
        "BLOCK_M = 128, BLOCK_N = 128, STAGES = 4");
}

TEST_CASE("names that become paths or code are safe") {
  CHECK(error("name: matmul", "name: a/b") ==
        "s.yaml:1:7: name: 'a/b': only letters, digits, '_' and '-' are allowed");
  CHECK(error("entry: matmul", "entry: 2x") == "s.yaml:3:8: entry: '2x' is not a Python name");
  CHECK(error("[M, N, K]", "[M, N, N]") == "s.yaml:4:20: dimension 'N' appears twice");
  CHECK(error("  x: {", "  x y: {") == "s.yaml:6:3: inputs: 'x y' is not a Python name");
}

TEST_CASE("formulas must have whole values in every case") {
  CHECK(error("flops: 2 * M * N * K", "flops: M * N * K / 7") ==
        "s.yaml:21:10: cost.flops of case 'square': formula 'M * N * K / 7': expected a whole "
        "number, got "
        "9817068105.142857");
  CHECK(error("flops: 2 * M * N * K", "flops: M - 5000") ==
        "s.yaml:21:10: cost.flops of case 'square': -904 is below 0");
}

TEST_CASE("a spec must have its sections") {
  CHECK(error("entry: matmul\n", "") == "s.yaml:1:1: missing key 'entry'");
  CHECK(error("  bytes: 2 * (M * K + K * N) + 4 * M * N\n", "") ==
        "s.yaml:20:1: missing key 'bytes' in 'cost'");
}

TEST_CASE("a spec may be timed on some of its bench cases alone") {
  const std::string cases =
      "  - { name: square, dims: { M: 4096, N: 4096, K: 4096 }, tags: [bench], weight: 2 }\n";
  const std::string more =
      "  - { name: small, dims: { M: 256, N: 256, K: 256 }, tags: [bench] }\n"
      "  - { name: both, dims: { M: 8, N: 8, K: 8 }, tags: [bench, check] }\n";
  Spec spec = parsed(with(cases, cases + more));
  REQUIRE(evolve::time_only(spec, {"both"}));
  std::vector<std::string> left;
  for (const evolve::Case& one : spec.cases) left.push_back(one.name);
  // The large case is gone. The small case is not timed, but it is small enough to be checked.
  CHECK(left == std::vector<std::string>{"small", "both", "ragged"});
  CHECK(spec.cases[0].tags == std::vector<std::string>{"check"});
  CHECK(spec.cases[1].has_tag("bench"));
  auto unknown = evolve::time_only(spec, {"bot"});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message == "'bot' is not a bench case of 'matmul', did you mean 'both'?");
}

TEST_CASE("a keyword of Python is no name") {
  CHECK(error("entry: matmul", "entry: class") == "s.yaml:3:8: entry: 'class' is a Python keyword");
  CHECK(error("entry: matmul", "entry: None") == "s.yaml:3:8: entry: 'None' is a Python keyword");
  CHECK(error("  y: { shape", "  lambda: { shape") ==
        "s.yaml:7:3: inputs: 'lambda' is a Python keyword");
  CHECK(parsed(with("entry: matmul", "entry: match")).entry == "match");
}
