#include "engine/campaign/spec_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/expression.h"
#include "engine/core/text/did_you_mean.h"

namespace evolve {

namespace {

bool is_whole(const std::string& dtype) {
  return dtype.starts_with("int") || dtype.starts_with("uint");
}

bool has(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_name(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
             "XYZ_0123456789") == std::string::npos &&
         (text[0] < '0' || text[0] > '9');
}

// Checks that each name in a formula of an input's values is a function, a dimension or an earlier
// input. The shape of the values is not checked, because it is known only when inputs are made.
void check_values_formula(const YamlNode& item, const std::vector<std::string>& dimensions,
                          const std::vector<Tensor>& before, YamlErrors& errors) {
  // The functions of rules/judge/whole_numbers.py.
  std::vector<std::string> known = {"abs",  "arange",  "argsort", "concatenate", "cumsum",
                                    "max",  "maximum", "min",     "minimum",     "repeat",
                                    "sort", "sum",     "take",    "where"};
  known.insert(known.end(), dimensions.begin(), dimensions.end());
  for (const Tensor& input : before) known.push_back(input.name);
  constexpr std::string_view kInNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const std::string& text = item.text;
  for (size_t start = text.find_first_of(kInNames); start != std::string::npos;) {
    const size_t end = std::min(text.find_first_not_of(kInNames, start), text.size());
    const std::string name = text.substr(start, end - start);
    if (is_name(name) && !has(known, name.c_str())) {
      errors.add(item.at, fmt::format("unknown name '{}'{}; a formula names functions, dimensions "
                                      "and the inputs before it",
                                      name, suggestion(name, known)));
    }
    start = text.find_first_of(kInNames, end);
  }
}

// Returns the number of values along the last axis; 0: not known.
double count_of(const Case& one, const Tensor& input) {
  if (input.shape.empty()) return 1;
  auto count = evaluate(input.shape.back(), one.dims);
  return count ? *count : 0;
}

}  // namespace

void check_formula(const YamlNode& item, const std::vector<std::string>& dimensions,
                   YamlErrors& errors) {
  if (item.kind != YamlNode::Kind::scalar) return;
  const bool is_known =
      std::find(dimensions.begin(), dimensions.end(), item.text) != dimensions.end();
  if (is_name(item.text) && !is_known) {
    errors.add(item.at, fmt::format("unknown dimension '{}'{}", item.text,
                                    suggestion(item.text, dimensions)));
  } else if (auto formula = Formula::parse(item.text, dimensions); !formula) {
    errors.add(item.at, formula.error().message);
  }
}

void read_input_values(YamlMap& map, const YamlNode& node,
                       const std::vector<std::string>& dimensions,
                       const std::vector<Tensor>& before, Tensor& input, YamlErrors& errors) {
  static const std::vector<std::string> kWords = {"sorted", "distinct"};
  map.texts("range", input.range);
  map.text("sum", input.sum);
  map.texts("are", input.are);
  map.text("values", input.values);
  if (const YamlNode* values = node.find("values"); values != nullptr) {
    check_values_formula(*values, dimensions, before, errors);
    if (!is_whole(input.dtype) || map.has("range") || map.has("sum") || map.has("are")) {
      errors.add(values->at, fmt::format("{}: only an input of whole numbers can have a formula, "
                                         "and then no range, sum or are",
                                         map.full_name("values")));
    }
    return;
  }
  if (const YamlNode* range = node.find("range"); range != nullptr) {
    if (input.range.size() != 2) {
      errors.add(range->at, fmt::format("{}: expected the least and the largest value",
                                        map.full_name("range")));
    }
    for (const YamlNode& item : range->items) check_formula(item, dimensions, errors);
  } else if (is_whole(input.dtype)) {
    errors.add_missing(
        map.value_at("dtype"),
        fmt::format("{}: an input of whole numbers needs a range of values, for example 'range: "
                    "[0, {} - 1]'",
                    map.full_name("range"), dimensions.empty() ? "8" : dimensions.back()));
  }
  if (const YamlNode* sum = node.find("sum"); sum != nullptr) {
    check_formula(*sum, dimensions, errors);
    if (!is_whole(input.dtype))
      errors.add(sum->at, fmt::format("{}: only an input of whole numbers can have a sum",
                                      map.full_name("sum")));
  }
  const YamlNode* are = node.find("are");
  if (are == nullptr) return;
  for (const YamlNode& word : are->items) {
    if (!has(kWords, word.text.c_str())) {
      errors.add(word.at, fmt::format("{}: unknown word '{}'{}", map.full_name("are"), word.text,
                                      suggestion(word.text, kWords)));
    }
  }
  if (has(input.are, "distinct") && (!is_whole(input.dtype) || !input.sum.empty())) {
    errors.add(are->at, fmt::format("{}: only whole numbers without a sum can be distinct",
                                    map.full_name("are")));
  }
}

void check_input_values(const Case& one, const Tensor& input, Position at, YamlErrors& errors) {
  if (input.range.size() != 2) return;
  auto low = evaluate(input.range[0], one.dims), high = evaluate(input.range[1], one.dims);
  auto none = [&](const std::string& why) {
    errors.add_missing(at, fmt::format("case '{}': {}", one.name, why));
  };
  if (!low || !high || *low > *high)
    return none(fmt::format("the range of '{}' is empty", input.name));
  const double count = count_of(one, input);
  if (has(input.are, "distinct") && count > *high - *low + 1) {
    return none(fmt::format("'{}' needs {} distinct values, but its range has {}", input.name,
                            count, *high - *low + 1));
  }
  if (input.sum.empty()) return;
  auto sum = evaluate(input.sum, one.dims);
  if (!sum || *sum < count * *low || *sum > count * *high) {
    none(fmt::format("no {} values in the range of '{}' have the sum {}", count, input.name,
                     sum ? fmt::format("{}", *sum) : input.sum));
  }
}

}  // namespace evolve
