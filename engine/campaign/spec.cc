#include "engine/campaign/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/campaign/spec_values.h"
#include "engine/core/expression.h"
#include "engine/core/text/did_you_mean.h"
#include "engine/core/text/scan.h"
#include "engine/core/yaml/yaml_source.h"

namespace evolve {

namespace {

constexpr int64_t kLargestDim = int64_t{1} << 40;
constexpr int64_t kLargestValue = int64_t{1} << 40;
constexpr size_t kMostValues = 1000;
constexpr size_t kMostWalked = 4096;
constexpr size_t kLongestName = 64;
// The largest weight of a case. The limit keeps every sum of weights finite.
constexpr double kLargestWeight = 1e6;
// Suffix of the name of a case that judges only the call (Case::is_forward).
constexpr std::string_view kForward = "-forward";

const std::vector<std::string>& dtypes() {
  static const std::vector<std::string> names = {
      "bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int4",
      "int8",     "int16",   "int32",   "int64",   "uint8",         "uint32",      "bool"};
  return names;
}

// Returns the floating-point dtypes, from the narrowest to the widest.
const std::vector<std::string>& float_dtypes() {
  static const std::vector<std::string> names = {"float8_e5m2", "float8_e4m3fn", "bfloat16",
                                                 "float16",     "float32",       "float64"};
  return names;
}

const std::vector<std::string>& known_tags() {
  static const std::vector<std::string> names = {"bench", "check", "ci", "holdout", "parts"};
  return names;
}

// Returns the names that contract.outside may have. rules/judge/outside.py has the same names.
const std::vector<std::string>& known_outside() {
  static const std::vector<std::string> words = {
      "bitcasts", "conditionals", "cumulative", "fft",   "gathers", "loops",
      "products", "random",       "scatters",   "sorts", "special", "windows"};
  return words;
}

bool is_identifier(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), is_word_character);
}

// The keywords of Python 3.11.
const std::vector<std::string>& python_keywords() {
  static const std::vector<std::string> words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return words;
}

// Whether a name is fit for a folder on any machine, and cannot be read as a flag.
bool is_folder_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_word_character(c) || c == '-'; });
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_float(const std::string& dtype) {
  return contains(float_dtypes(), dtype);
}

// Reads and checks a spec. The dimensions are read before the formulas that use them.
class SpecReader {
 public:
  explicit SpecReader(const YamlSource& source) : source_(source), errors_(source) {}

  Result<Spec> read() {
    YamlMap root(errors_, &source_.root(), "");
    if (source_.root().kind == YamlNode::Kind::null) errors_.add({}, "expected a map, got nothing");
    read_names(root);
    read_tensors(root, "inputs", spec_.inputs);
    read_tensors(root, "outputs", spec_.outputs);
    read_gradients(root);
    read_cases(root);
    read_tolerance(root);
    read_contract(root);
    read_parameters(root);
    read_constraints(root);
    read_cost(root);
    add_forward_cases(root);
    root.finish();
    spec_.contract.is_operand_said = !spec_.contract.operand.empty();
    if (spec_.contract.operand.empty()) spec_.contract.operand = narrowest_input();
    if (errors_.status()) check_points(root);
    if (auto status = errors_.status(); !status) return status.error();
    return std::move(spec_);
  }

 private:
  void read_names(YamlMap& root) {
    root.text("name", spec_.name, Need::required);
    if (!spec_.name.empty() && !is_folder_name(spec_.name)) {
      errors_.add(
          root.value_at("name"),
          fmt::format("name: '{}': only letters, digits, '_' and '-' are allowed", spec_.name));
    }
    root.text("formula", spec_.formula);
    root.text("entry", spec_.entry, Need::required);
    if (!spec_.entry.empty()) check_identifier(spec_.entry, root.value_at("entry"), "entry");
    root.texts("dimensions", spec_.dimensions, Need::required);
    const YamlNode* dimensions = source_.root().find("dimensions");
    if (dimensions == nullptr) return;
    std::vector<std::string> seen;
    for (const YamlNode& item : dimensions->items) {
      check_formula_name(item.text, item.at, "dimension");
      if (contains(seen, item.text))
        errors_.add(item.at, fmt::format("dimension '{}' appears twice", item.text));
      seen.push_back(item.text);
    }
  }

  // Returns the narrowest floating-point dtype of the inputs; empty: no such input.
  [[nodiscard]] std::string narrowest_input() const {
    for (const std::string& dtype : float_dtypes()) {
      for (const Tensor& input : spec_.inputs) {
        if (input.dtype == dtype) return dtype;
      }
    }
    return {};
  }

  void check_identifier(const std::string& name, Position at, const std::string& what) {
    if (!is_identifier(name))
      errors_.add(at, fmt::format("{}: '{}' is not a Python name", what, name));
    else if (contains(python_keywords(), name))
      errors_.add(at, fmt::format("{}: '{}' is a Python keyword", what, name));
  }

  // Checks a name that formulas use.
  void check_formula_name(const std::string& name, Position at, const std::string& what) {
    check_identifier(name, at, what);
    if (is_reserved_name(name))
      errors_.add(at, fmt::format("{}: '{}' is reserved for formulas", what, name));
  }

  void read_tensors(YamlMap& root, const char* key, std::vector<Tensor>& out) {
    const YamlNode* tensors = root.map(key, Need::required);
    if (tensors == nullptr) return;
    if (tensors->entries.empty())
      errors_.add(tensors->at, fmt::format("{}: at least one entry is needed", key));
    for (const YamlEntry& entry : tensors->entries) {
      check_identifier(entry.key, entry.at, key);
      YamlMap map(errors_, &entry.value, fmt::format("{}.{}", key, entry.key), entry.at);
      Tensor tensor;
      tensor.name = entry.key;
      map.texts("shape", tensor.shape, Need::required);
      map.text("dtype", tensor.dtype, Need::required);
      check_dtype(map, tensor.dtype);
      if (const YamlNode* shape = entry.value.find("shape")) check_formulas(*shape);
      if (key == std::string_view("inputs"))
        read_input_values(map, entry.value, spec_.dimensions, out, tensor, errors_);
      map.finish();
      out.push_back(std::move(tensor));
    }
  }

  void check_dtype(YamlMap& map, const std::string& dtype) {
    if (dtype.empty() || contains(dtypes(), dtype)) return;
    errors_.add(map.value_at("dtype"),
                fmt::format("{}: unknown dtype '{}'{}", map.full_name("dtype"), dtype,
                            suggestion(dtype, dtypes())));
  }

  void read_gradients(YamlMap& root) {
    root.texts("gradients", spec_.gradients);
    const YamlNode* gradients = source_.root().find("gradients");
    if (gradients == nullptr) return;
    for (const YamlNode& item : gradients->items) {
      const bool is_input = std::any_of(spec_.inputs.begin(), spec_.inputs.end(), [&](auto& input) {
        return input.name == item.text && is_float(input.dtype);
      });
      if (!is_input) {
        errors_.add(item.at,
                    fmt::format("gradients: '{}' is not a floating-point input", item.text));
      }
    }
  }

  void check_formulas(const YamlNode& list) {
    for (const YamlNode& item : list.items) check_formula(item, spec_.dimensions, errors_);
  }

  void read_cases(YamlMap& root) {
    const YamlNode* cases = root.list("cases", Need::required);
    if (cases == nullptr) return;
    for (const YamlNode& item : cases->items) read_case(item);
    for (const char* tag : {"bench", "check"}) {
      bool is_there = std::any_of(spec_.cases.begin(), spec_.cases.end(),
                                  [&](const Case& one) { return one.has_tag(tag); });
      if (!is_there)
        errors_.add_missing(root.key_at("cases"), fmt::format("no case has the tag '{}'", tag));
    }
  }

  void read_case(const YamlNode& item) {
    YamlMap map(errors_, &item, "case", item.at);
    Case one;
    map.text("name", one.name, Need::required);
    check_case_name(map, one.name);
    read_dims(map, one);
    map.texts("tags", one.tags, Need::required);
    check_tags(map, item, one);
    map.number("weight", one.weight, 0);
    map.finish();
    if (one.has_tag("bench") && one.weight <= 0) {
      errors_.add(map.value_at("weight"),
                  fmt::format("case '{}': the weight must be above 0", one.name));
    }
    if (one.weight > kLargestWeight) {
      errors_.add(
          map.value_at("weight"),
          fmt::format("case '{}': the weight must be at most {:.0f}", one.name, kLargestWeight));
    }
    check_sizes(item.at, one);
    spec_.cases.push_back(std::move(one));
  }

  void check_case_name(const YamlMap& map, const std::string& name) {
    if (name.empty()) return;
    if (!is_folder_name(name)) {
      errors_.add(
          map.value_at("name"),
          fmt::format("case '{}': only letters, digits, '_' and '-' are allowed in a name", name));
    }
    for (const Case& other : spec_.cases) {
      if (other.name == name)
        errors_.add(map.value_at("name"), fmt::format("case '{}' appears twice", name));
    }
  }

  void read_dims(YamlMap& map, Case& one) {
    const YamlNode* dims = map.map("dims", Need::required);
    if (dims == nullptr) return;
    for (const YamlEntry& entry : dims->entries) {
      auto value = parse_whole(entry.value.text);
      if (!contains(spec_.dimensions, entry.key)) {
        errors_.add(entry.at, fmt::format("unknown dimension '{}'{}", entry.key,
                                          suggestion(entry.key, spec_.dimensions)));
      } else if (!value || *value < 1 || *value > kLargestDim) {
        errors_.add(entry.value.at,
                    fmt::format("dims.{}: expected a whole number of at least 1, got {}", entry.key,
                                describe(entry.value)));
      }
      one.dims[entry.key] = value.value_or(1);
    }
    for (const std::string& name : spec_.dimensions) {
      if (!one.dims.contains(name)) {
        errors_.add_missing(map.key_at("dims"),
                            fmt::format("case '{}' has no dimension '{}'", one.name, name));
      }
    }
  }

  void check_tags(const YamlMap& map, const YamlNode& item, const Case& one) {
    const YamlNode* tags = item.find("tags");
    if (tags == nullptr) return;
    bool are_known = true;
    for (const YamlNode& tag : tags->items) {
      if (contains(known_tags(), tag.text) || tag.kind != YamlNode::Kind::scalar) continue;
      are_known = false;
      errors_.add(tag.at,
                  fmt::format("unknown tag '{}'{}", tag.text, suggestion(tag.text, known_tags())));
    }
    if (one.has_tag("parts") && (one.has_tag("check") || !one.has_tag("bench"))) {
      errors_.add(
          map.key_at("tags"),
          fmt::format(
              "case '{}': the tag 'parts' needs the tag 'bench', and excludes the tag 'check'",
              one.name));
    }
    if (are_known && !one.has_tag("bench") && !one.has_tag("check")) {
      errors_.add(map.key_at("tags"),
                  fmt::format("case '{}' needs one of the tags 'bench' and 'check'", one.name));
    }
  }

  void read_contract(YamlMap& root) {
    YamlMap contract = root.section("contract");
    Contract& out = spec_.contract;
    contract.number("min_flops", out.min_flops, 0);
    contract.number("max_outside_flops", out.max_outside_flops, 0);
    contract.whole("max_constant_bytes", out.max_constant_bytes, int64_t{0}, kLargestValue);
    contract.choice("operand", out.operand, float_dtypes());
    contract.choice("accumulator", out.accumulator, float_dtypes());
    contract.choice("precision", out.precision, {"default", "highest"});
    contract.texts("excused", out.excused);
    contract.texts("outside", out.outside);
    contract.texts("imports", out.imports);
    contract.finish();
    check_words("excused", {"interpret", "values"});
    check_words("outside", known_outside());
  }

  // Checks that the contract's list `key` has only known words.
  void check_words(std::string_view key, const std::vector<std::string>& known) {
    const YamlNode* contract = source_.root().find("contract");
    const YamlNode* words = contract == nullptr ? nullptr : contract->find(key);
    if (words == nullptr) return;
    for (const YamlNode& word : words->items) {
      if (contains(known, word.text)) continue;
      errors_.add(word.at, fmt::format("{}: unknown word '{}'{}", key, word.text,
                                       suggestion(word.text, known)));
    }
  }

  // Checks that the case's sizes are whole numbers of at least 1, and that its inputs can have
  // values.
  void check_sizes(Position at, const Case& one) {
    if (one.dims.size() != spec_.dimensions.size()) return;
    for (const auto& tensors : {spec_.inputs, spec_.outputs}) {
      for (const Tensor& tensor : tensors) {
        check_input_values(one, tensor, at, errors_);
        for (const std::string& size : tensor.shape) {
          auto value = evaluate_whole(size, one.dims);
          if (value && *value >= 1) continue;
          errors_.add_missing(
              at,
              fmt::format("case '{}': the shape of '{}' is invalid: {}", one.name, tensor.name,
                          value ? fmt::format("'{}' is {}", size, *value) : value.error().message));
        }
      }
    }
  }

  void read_tolerance(YamlMap& root) {
    YamlMap tolerance = root.section("tolerance");
    tolerance.number("rtol", spec_.tolerance.rtol, 0);
    tolerance.number("atol", spec_.tolerance.atol, 0);
    tolerance.number("max_error_ratio", spec_.tolerance.max_error_ratio, 0);
    tolerance.finish();
  }

  void read_parameters(YamlMap& root) {
    const YamlNode* parameters = root.map("parameters");
    if (parameters == nullptr) return;
    for (const YamlEntry& entry : parameters->entries) {
      check_formula_name(entry.key, entry.at, "parameter");
      YamlMap map(errors_, &entry.value, "parameters." + entry.key, entry.at);
      Parameter parameter;
      parameter.name = entry.key;
      if (map.has("range")) {
        read_range(map, parameter);
      } else {
        map.wholes("values", parameter.values, Need::required);
        if (map.has("values")) check_values(entry, map.value_at("values"), parameter);
      }
      map.finish();
      std::sort(parameter.values.begin(), parameter.values.end());
      spec_.parameters.push_back(std::move(parameter));
    }
  }

  void check_values(const YamlEntry& entry, Position at, const Parameter& parameter) {
    if (entry.value.find("values")->items.empty()) {
      errors_.add(at, fmt::format("parameter '{}' has no values", parameter.name));
    }
    if (parameter.values.size() > kMostValues) {
      errors_.add(at, fmt::format("parameter '{}' has {} values, at most {} are allowed",
                                  parameter.name, parameter.values.size(), kMostValues));
    }
    std::vector<int64_t> seen;
    for (int64_t value : parameter.values) {
      if (std::find(seen.begin(), seen.end(), value) != seen.end()) {
        errors_.add(at,
                    fmt::format("parameter '{}' has the value {} twice", parameter.name, value));
      }
      if (value > kLargestValue || value < -kLargestValue) {
        errors_.add(at, fmt::format("parameter '{}': {} is not between -2^40 and 2^40",
                                    parameter.name, value));
      }
      seen.push_back(value);
    }
  }

  // Reads range: { from, to, step } or { from, to, times }. Each end is included if a step hits it.
  void read_range(YamlMap& map, Parameter& parameter) {
    YamlMap range = map.section("range");
    int64_t from = 1, to = 1, step = 0, times = 0;
    range.whole("from", from, -kLargestValue, kLargestValue, Need::required);
    range.whole("to", to, -kLargestValue, kLargestValue, Need::required);
    range.whole("step", step, int64_t{1}, kLargestValue);
    range.whole("times", times, int64_t{2}, kLargestValue);
    range.finish();
    Position at = map.key_at("range");
    if (range.has("step") == range.has("times")) {
      errors_.add_missing(at, fmt::format("parameter '{}': a range needs one of 'step' and 'times'",
                                          parameter.name));
      return;
    }
    if (range.has("times") && from < 1) {
      errors_.add(at, fmt::format("parameter '{}': a range with 'times' must start at 1 or above",
                                  parameter.name));
      return;
    }
    if (step == 0 && times == 0) return;
    // `value` is at most 2^41, because both ends and the step are at most 2^40.
    for (int64_t value = from; value <= to;) {
      parameter.values.push_back(value);
      if (step == 0 && value > to / times) break;
      value = step > 0 ? value + step : value * times;
      if (parameter.values.size() > kMostValues) {
        errors_.add(at, fmt::format("parameter '{}': the range has more than {} values",
                                    parameter.name, kMostValues));
        return;
      }
    }
    if (parameter.values.empty()) {
      errors_.add(at, fmt::format("parameter '{}' has no values: {} is above {}", parameter.name,
                                  from, to));
    }
  }

  void read_constraints(YamlMap& root) {
    const YamlNode* constraints = root.list("constraints");
    root.texts("constraints", spec_.constraints);
    if (constraints == nullptr) return;
    std::vector<std::string> names;
    for (const Parameter& parameter : spec_.parameters) names.push_back(parameter.name);
    for (const YamlNode& item : constraints->items) {
      if (item.kind != YamlNode::Kind::scalar) continue;
      if (auto formula = Formula::parse(item.text, names)) {
        constraints_.push_back(*std::move(formula));
      } else {
        errors_.add(item.at, formula.error().message);
      }
    }
  }

  // Walks through the points of a small space. The constraints must have a value at each point, and
  // must allow at least one point.
  void check_points(const YamlMap& root) {
    size_t size = 1;
    std::vector<std::string> names;
    for (const Parameter& parameter : spec_.parameters) {
      names.push_back(parameter.name);
      size *= parameter.values.size();
      if (size > kMostWalked) return;
    }
    bool is_one_allowed = spec_.constraints.empty();
    for (size_t number = 0; number < size && !spec_.constraints.empty(); ++number) {
      std::vector<int64_t> point;
      for (size_t rest = number; const Parameter& parameter : spec_.parameters) {
        point.push_back(parameter.values[rest % parameter.values.size()]);
        rest /= parameter.values.size();
      }
      auto is_allowed = meets_constraints(names, point);
      if (!is_allowed) return errors_.add(root.key_at("constraints"), is_allowed.error().message);
      is_one_allowed = is_one_allowed || *is_allowed;
    }
    if (!is_one_allowed)
      errors_.add(root.key_at("constraints"),
                  "constraints: no values of the parameters meet all constraints");
  }

  [[nodiscard]] Result<bool> meets_constraints(const std::vector<std::string>& names,
                                               const std::vector<int64_t>& point) const {
    bool is_allowed = true;
    for (const Formula& constraint : constraints_) {
      auto holds = constraint.holds(point);
      if (!holds) {
        std::string at;
        for (size_t i = 0; i < names.size(); ++i)
          at += fmt::format("{} {} = {}", i == 0 ? " with" : ",", names[i], point[i]);
        return bad_input(holds.error().message + at);
      }
      is_allowed = is_allowed && *holds;
    }
    return is_allowed;
  }

  void read_cost(YamlMap& root) {
    YamlMap cost = root.section("cost", Need::required);
    if (!root.has("cost")) return;
    read_cost_formula(cost, "flops", spec_.cost.flops);
    read_cost_formula(cost, "bytes", spec_.cost.bytes);
    if (cost.has("forward")) {
      if (spec_.gradients.empty())
        errors_.add(cost.key_at("forward"), "cost.forward: the spec has no gradients");
      YamlMap forward = cost.section("forward");
      read_cost_formula(forward, "flops", spec_.cost.forward_flops);
      read_cost_formula(forward, "bytes", spec_.cost.forward_bytes);
      forward.finish();
    }
    cost.finish();
  }

  // Adds the cases in which only the call is judged, without gradients.
  void add_forward_cases(const YamlMap& root) {
    if (spec_.gradients.empty()) return;
    const std::vector<Case> written = spec_.cases;
    for (Case one : written) {
      one.name += kForward;
      one.is_forward = true;
      const bool is_there = std::any_of(written.begin(), written.end(),
                                        [&](const Case& other) { return other.name == one.name; });
      if (is_there) {
        errors_.add(
            root.key_at("cases"),
            fmt::format("case '{}': the name is reserved for another case's call without gradients",
                        one.name));
      }
      spec_.cases.push_back(std::move(one));
    }
  }

  void read_cost_formula(YamlMap& cost, const char* key, std::string& out) {
    cost.text(key, out, Need::required);
    if (out.empty()) return;
    Position at = cost.value_at(key);
    if (auto formula = Formula::parse(out, spec_.dimensions); !formula) {
      errors_.add(at, fmt::format("{}: {}", cost.full_name(key), formula.error().message));
      return;
    }
    for (const Case& one : spec_.cases) {
      if (one.dims.size() != spec_.dimensions.size()) continue;
      auto value = evaluate_whole(out, one.dims);
      if (!value || *value < 0) {
        errors_.add(
            at, fmt::format("{} of case '{}': {}", cost.full_name(key), one.name,
                            value ? fmt::format("{} is below 0", *value) : value.error().message));
      }
    }
  }

  const YamlSource& source_;
  YamlErrors errors_;
  std::vector<Formula> constraints_;
  Spec spec_;
};

}  // namespace

bool Case::has_tag(std::string_view tag) const {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

Status time_only(Spec& spec, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Case& one : spec.cases) {
    if (one.has_tag("bench")) known.push_back(one.name);
  }
  for (const std::string& name : names) {
    if (contains(known, name)) continue;
    return bad_input(fmt::format("'{}' is not a bench case of '{}'{}", name, spec.name,
                                 suggestion(name, known)));
  }
  std::vector<Case> left;
  for (Case& one : spec.cases) {
    const bool is_checked_too = is_checked(spec, one);
    const std::string written =
        one.is_forward ? one.name.substr(0, one.name.size() - kForward.size()) : one.name;
    if (one.has_tag("bench") && !contains(names, one.name) && !contains(names, written)) {
      std::erase(one.tags, "bench");
      // A case that is small enough to be checked is still checked.
      if (is_checked_too && !one.has_tag("check")) one.tags.emplace_back("check");
      if (!is_checked_too) continue;
    }
    left.push_back(std::move(one));
  }
  spec.cases = std::move(left);
  return {};
}

Result<Spec> parse_spec(std::string_view text, const std::string& path) {
  TRY_ASSIGN(auto source, YamlSource::parse(text, path));
  return SpecReader(source).read();
}

}  // namespace evolve
